import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import type { ServerInfo } from '../../../serve/page/page-shapes.ts';
import { goTo, logOut } from '../api.ts';
import { useLoaded } from '../use-loaded.ts';

interface FrameProps {
  readonly title: string;
  readonly mark?: ComponentChildren;
  readonly sub?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** When another page opens, its title gets the keyboard focus. */
export function Frame({ title, mark, sub, actions, children }: FrameProps) {
  const { path } = useLocation();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · automate`;
  }, [title]);
  useEffect(() => {
    if (hasMoved) heading.current?.focus();
    hasMoved = true;
  }, [path]);
  return (
    <div class="frame">
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <Navigation path={path} />
      <main id="content">
        <header>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {mark}
          {actions !== undefined && <div class="actions">{actions}</div>}
          {sub !== undefined && <div class="sub">{sub}</div>}
        </header>
        {children}
      </main>
    </div>
  );
}

/** False until the first page has been shown. The first page does not take the focus. */
let hasMoved = false;

const places = [
  { href: '/', text: 'Flows', also: '/flows' },
  { href: '/runs', text: 'Runs', also: '/runs' },
  { href: '/integrations', text: 'Integrations', also: '/integrations' },
] as const;

const settings = [
  { href: '/settings/keys', text: 'API keys' },
  { href: '/settings/billing', text: 'Usage and limits' },
  { href: '/settings/audit', text: 'Audit' },
] as const;

/** Returns the number shown next to a navigation link. It is the number of flows, of connections, or of running runs. */
function countAt(href: (typeof places)[number]['href'], { flows, running, connections }: ServerInfo): string {
  if (href === '/runs') return running > 0 ? `${running} running` : '';
  const count = href === '/' ? flows : connections;
  return count > 0 ? `${count}` : '';
}

function Navigation({ path }: { readonly path: string }) {
  const { data: server } = useLoaded<ServerInfo>('/server', 5000);
  const isHere = (href: string, also: string) => path === href || path.startsWith(`${also}/`);
  return (
    <nav aria-label="Main">
      <b>automate</b>
      {places.map(({ href, text, also }) => (
        <a key={href} href={href} aria-current={isHere(href, also) ? 'page' : undefined}>
          {text} {server !== undefined && <small>{countAt(href, server)}</small>}
        </a>
      ))}
      <h2>Settings</h2>
      {settings.map(({ href, text }) => (
        <a key={href} href={href} aria-current={path === href ? 'page' : undefined}>
          {text}
        </a>
      ))}
      <h2>Help</h2>
      <a href="/docs" aria-current={path === '/docs' ? 'page' : undefined}>
        HTTP interface
      </a>
      <button type="button" class="link" onClick={() => void logOut().then(() => goTo('/login'))}>
        Log out
      </button>
      {server !== undefined && (
        <p class="server">
          <span title={server.folder}>{server.folder}</span>
          <br />
          automate {server.version}
        </p>
      )}
    </nav>
  );
}
