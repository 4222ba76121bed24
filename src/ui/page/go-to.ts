/** Goes to a path of the page, from code outside of its components, too. `replace`: without a way back. */
export function goTo(path: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', path);
  else history.pushState(null, '', path);
  // The router follows this event.
  dispatchEvent(new PopStateEvent('popstate'));
}
