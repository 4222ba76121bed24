import { render } from 'preact';
import { LocationProvider, Route, Router, useLocation } from 'preact-iso/router';
import { Empty } from '../parts/tiles.tsx';
import { hasToken } from './api.ts';
import { DocsPage } from './docs-page.tsx';
import { FlowPage } from './flows/flow-page.tsx';
import { FlowsPage } from './flows/flows-page.tsx';
import { Frame } from './frame/frame.tsx';
import { IntegrationsPage } from './integrations-page.tsx';
import { Login } from './login.tsx';
import { RunPage } from './runs/run-page.tsx';
import { RunsPage } from './runs/runs-page.tsx';
import { AuditPage } from './settings/audit-page.tsx';
import { BillingPage } from './settings/billing-page.tsx';
import { KeysPage } from './settings/keys-page.tsx';
import { TestPage } from './test-request/test-page.tsx';

function Page() {
  const { path } = useLocation();
  if (path === '/login' || !hasToken()) return <Login />;
  // Because of the key, a page starts afresh when the path changes. So the page about one run keeps no state from another run.
  return (
    <Router key={path}>
      <Route path="/" component={FlowsPage} />
      <Route path="/flows/:id" component={FlowPage} />
      <Route path="/flows/:id/test" component={TestPage} />
      <Route path="/runs" component={RunsPage} />
      <Route path="/runs/:id" component={RunPage} />
      <Route path="/integrations" component={IntegrationsPage} />
      <Route path="/settings/keys" component={KeysPage} />
      <Route path="/settings/billing" component={BillingPage} />
      <Route path="/settings/audit" component={AuditPage} />
      <Route path="/docs" component={DocsPage} />
      <Route default component={NotFound} />
    </Router>
  );
}

function NotFound() {
  const { path } = useLocation();
  return (
    <Frame title="Not found">
      <Empty>
        There is no page {path}. <a href="/">All flows</a>
      </Empty>
    </Frame>
  );
}

render(
  <LocationProvider>
    <Page />
  </LocationProvider>,
  document.getElementById('page') as HTMLElement,
);
