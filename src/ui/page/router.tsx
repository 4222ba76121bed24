import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';

/** The place that the page shows. */
export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

const PlaceContext = createContext<Place>({ path: '/', query: new URLSearchParams() });

/** Says that the address has changed. */
const moved = 'automate-moved';

/** Goes to a path of the page. `replace`: without a way back. */
export function goTo(path: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', path);
  else history.pushState(null, '', path);
  dispatchEvent(new Event(moved));
}

/** The place of the page. */
export function usePlace(): Place {
  return useContext(PlaceContext);
}

/** Follows the address of the browser. */
export function Router({ children }: { readonly children: ComponentChildren }) {
  const [place, setPlace] = useState(currentPlace);
  useEffect(() => {
    const follow = () => setPlace(currentPlace());
    for (const event of [moved, 'popstate']) addEventListener(event, follow);
    return () => {
      for (const event of [moved, 'popstate']) removeEventListener(event, follow);
    };
  }, []);
  return <PlaceContext.Provider value={place}>{children}</PlaceContext.Provider>;
}

function currentPlace(): Place {
  return { path: location.pathname.replace(/(.)\/+$/, '$1'), query: new URLSearchParams(location.search) };
}

interface LinkProps {
  readonly href: string;
  readonly class?: string;
  readonly 'aria-current'?: 'page' | undefined;
  readonly children: ComponentChildren;
}

/** A link to a place of the page. It is followed without loading anything but data. */
export function Link({ href, ...rest }: LinkProps) {
  const follow = (event: MouseEvent) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    goTo(href);
  };
  return <a href={href} onClick={follow} {...rest} />;
}

/** The named parts of a path that has the form of a pattern, such as `/runs/:id`; absent if it has not. */
export function matched(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const [expected, found] = [pattern.split('/'), path.split('/')];
  if (expected.length !== found.length) return undefined;
  const parts: Record<string, string> = {};
  for (const [index, name] of expected.entries()) {
    const part = decodedSegment(found[index] ?? '');
    if (name.startsWith(':') && part !== '') parts[name.slice(1)] = part;
    else if (name !== part) return undefined;
  }
  return parts;
}

function decodedSegment(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
