import { useEffect, useState } from 'preact/hooks';
import { logIn, type Problem } from './api.ts';
import { CodeBlock } from './frame/copy.tsx';
import { ProblemNotice } from './frame/feedback.tsx';
import { goTo } from './go-to.ts';
import { problemOf } from './use-loaded.ts';

/** The login page: exchanges the one-time token after `#` for a session. Without a token it shows the command that prints a link. */
export function Login() {
  const [problem, setProblem] = useState<Problem>();
  const [isBusy, setBusy] = useState(location.hash.length > 1);
  useEffect(() => {
    document.title = 'Log in · automate';
    const token = location.hash.slice(1);
    if (token === '') return;
    // From here on, neither the address nor the history holds the token.
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
