import { useEffect, useState } from 'preact/hooks';
import { goTo, logIn, type ReportedProblem } from './api.ts';
import { CodeBlock, ProblemNotice } from './frame/feedback.tsx';
import { problemOf } from './use-loaded.ts';

/** The URL has the one-time token after `#`. Without a token, the page shows the command that prints a login link. */
export function Login() {
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
