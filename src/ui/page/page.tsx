import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { LocationProvider, Route, Router, useLocation } from 'preact-iso/router';
import { Empty } from '../parts/tiles.tsx';
import { goTo, hasToken, logIn, type ReportedProblem } from './api.ts';
import { DocsPage } from './docs-page.tsx';
import { FlowPage } from './flows/flow-page.tsx';
import { FlowsPage } from './flows/flows-page.tsx';
import { CodeBlock, ProblemNotice } from './frame/feedback.tsx';
import { Frame } from './frame/frame.tsx';
import { IntegrationsPage } from './integrations-page.tsx';
import { RunPage } from './runs/run-page.tsx';
import { RunsPage } from './runs/runs-page.tsx';
import { AuditPage } from './settings/audit-page.tsx';
import { BillingPage } from './settings/billing-page.tsx';
import { KeysPage } from './settings/keys-page.tsx';
import { TestPage } from './test-request/test-page.tsx';
import { problemOf } from './use-loaded.ts';

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

/** The URL has the one-time token after `#`. Without a token, the page shows the command that prints a login link. */
function Login() {
  const [problem, setProblem] = useState<ReportedProblem>();
  const [isBusy, setBusy] = useState(location.hash.length > 1);
  useEffect(() => {
    document.title = 'Log in · automate';
    const token = location.hash.slice(1);
    if (token === '') return;
    // Removes the token from the address bar and the browser's history.
    history.replaceState(null, '', '/login');
    logIn(token)
      .then(() => goTo('/', { replace: true }))
      .catch((error: unknown) => {
        setProblem(problemOf(error));
        setBusy(false);
      });
  }, []);
  return (
    <main class="alone">
      <h1>automate</h1>
      {isBusy ? (
        <p class="loading">Logging in</p>
      ) : (
        <div class="panel">
          <h2>Log in with a link</h2>
          <ProblemNotice problem={problem} />
          <p>There is no password. On the machine where the server runs, print a link that opens this page once, within 10 minutes:</p>
          <CodeBlock text="automate serve login" label="Command that prints a link" />
        </div>
      )}
    </main>
  );
}
