/** Goes to a path of the page, and works outside of components. `replace`: the back button skips the present path. */
export function goTo(path: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', path);
  else history.pushState(null, '', path);
  // The router follows this event.
  dispatchEvent(new PopStateEvent('popstate'));
}
