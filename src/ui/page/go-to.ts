/**
 * Opens another path of the web page. Unlike the router's hooks, it can be called anywhere. `replace` is true if the back button should
 * skip the current path.
 */
export function goTo(path: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', path);
  else history.pushState(null, '', path);
  // The router shows the new path when it receives this event.
  dispatchEvent(new PopStateEvent('popstate'));
}
