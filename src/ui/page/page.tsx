import { render } from 'preact';
import { Empty } from '../parts/panel.tsx';
import { hasToken } from './api.ts';
import { DocsPage } from './docs/docs-page.tsx';
import { FlowPage } from './flows/flow-page.tsx';
import { FlowsPage } from './flows/flows-page.tsx';
import { Frame } from './frame/frame.tsx';
import { IntegrationsPage } from './integrations/integrations-page.tsx';
import { Login } from './login.tsx';
import { Link, matched, Router, usePlace } from './router.tsx';
import { RunPage } from './runs/run-page.tsx';
import { RunsPage } from './runs/runs-page.tsx';
import { AuditPage } from './settings/audit-page.tsx';
import { BillingPage } from './settings/billing-page.tsx';
import { KeysPage } from './settings/keys-page.tsx';
import { TestPage } from './test-request/test-page.tsx';

/** The pages by their paths. */
const pages = {
  '/': () => <FlowsPage />,
  '/flows/:id': ({ id = '' }) => <FlowPage key={id} id={id} />,
  '/flows/:id/test': ({ id = '' }) => <TestPage key={id} id={id} />,
  '/runs': () => <RunsPage />,
  '/runs/:id': ({ id = '' }) => <RunPage key={id} id={id} />,
  '/integrations': () => <IntegrationsPage />,
  '/settings/keys': () => <KeysPage />,
  '/settings/billing': () => <BillingPage />,
  '/settings/audit': () => <AuditPage />,
  '/docs': () => <DocsPage />,
} satisfies Record<string, (parts: Readonly<Record<string, string>>) => preact.JSX.Element>;

function Page() {
  const { path } = usePlace();
  if (path === '/login' || !hasToken()) return <Login />;
  for (const [pattern, show] of Object.entries(pages)) {
    const parts = matched(pattern, path);
    if (parts) return show(parts);
  }
  return (
    <Frame title="Not found">
      <Empty>
        There is no page {path}. <Link href="/">All flows</Link>
      </Empty>
    </Frame>
  );
}

render(
  <Router>
    <Page />
  </Router>,
  document.getElementById('page') as HTMLElement,
);
