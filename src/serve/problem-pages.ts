import type { FastifyInstance } from 'fastify';
import { addRoutes } from './app.ts';
import { Problem, type ProblemName, problemNames, statusOf, titleOf } from './problem.ts';

/** The way out of each problem. */
const advice: Readonly<Record<ProblemName, string>> = {
  'bad-request': 'Change the request as "detail" and "errors" say: "pointer" names the place in the body or the query.',
  'key-in-query': 'Addresses end up in logs. Send the key as "Authorization: Bearer KEY", and rotate this one: automate keys rotate NAME.',
  'key-missing': 'Send a key as "Authorization: Bearer KEY" or "X-API-Key: KEY". The operator makes one with automate keys create NAME.',
  'key-invalid': 'The key is unknown here, mistyped or revoked. Ask the operator for another.',
  'key-expired': 'The key was made for a limited time. Ask the operator for another.',
  'credits-used-up': 'The credits of this month are used up: "of" says whose, "resets_at" when there are new ones.',
  'scope-missing': 'The key was made without the scope that "scope" names. Ask the operator for one with it.',
  'cross-site': 'The page of another site sent this request. Use the page of this server.',
  'session-missing': 'Open a new link to the page: automate serve login.',
  'not-found': 'There is nothing of that name, or the key may not see it.',
  'method-not-allowed': 'The header Allow lists the methods of this address.',
  'flow-invalid': 'The flow has the problems in "errors". The operator sees them with automate validate.',
  'run-state': 'The run is in the state that "state" names, in which this cannot be done.',
  'call-in-progress': 'Wait for the answer of the first request, and repeat this one with the same Idempotency-Key.',
  'changed-meanwhile': 'The file was changed since it was read. Read it again, and repeat the change.',
  'too-large': 'Send less than "limit" bytes: split the records into several runs.',
  'media-type': 'Send one of the types in "expected", and name it in Content-Type.',
  'host-not-served': 'The operator names further hosts with --allow-host.',
  'record-failed': '"error" says which node failed and why. Send the record again only if that may pass: it is paid again.',
  'input-unreadable': 'Correct the body at "line", and send it again.',
  'idempotency-key-reused': 'Use a new Idempotency-Key for another body.',
  'rate-limited': 'Wait for the seconds of Retry-After.',
  internal: 'Please report it with the request id in "instance". The log of the server has the reason.',
  'queue-full': 'The server has enough to do. Send it again after the seconds of Retry-After.',
  stopping: 'The server stops or starts again. Send it again after the seconds of Retry-After.',
  'credential-missing': 'The flow needs the credential that "credential" names. The operator stores it with automate credentials set NAME.',
  'call-timeout': 'The flow took longer than the request waits: "Prefer: wait=60" waits longer, and a run takes any time.',
  'disk-full': 'The operator has to free space, or to raise --max-disk.',
};

/** Adds the pages that the types of problems lead to. They are open to all. */
export function addProblemPages(app: FastifyInstance): void {
  addRoutes(app, '/problems/:name', {
    GET: {
      schema: { hide: true } as object,
      handler: async (request, reply) => {
        const { name } = request.params as { readonly name: string };
        const found = problemNames.find((one) => one === name);
        if (!found) throw new Problem('not-found', `there is no problem "${name}"`);
        return reply
          .type('text/html; charset=utf-8')
          .serializer((body: unknown) => body as string)
          .send(pageOf(found));
      },
    },
  });
}

function pageOf(name: ProblemName): string {
  const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(titleOf(name))} · automate</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/assets/page.css">
<main class="alone">
<p>automate</p>
<div class="panel">
<h1>${escaped(titleOf(name))}</h1>
<p class="dim"><code>${name}</code> · status ${statusOf(name)}</p>
<p>${escaped(advice[name])}</p>
</div>
</main>
</html>
`;
}
