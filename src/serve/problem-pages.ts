import type { FastifyInstance } from 'fastify';
import { addRoutes } from './app.ts';
import { type ProblemName, ProblemResponse, problemNames, statusOf, titleOf } from './problem.ts';

const advice: Readonly<Record<ProblemName, string>> = {
  'bad-request': 'Correct what "detail" and "errors" describe. "pointer" is the place in the body or the query.',
  'key-in-query': 'URLs end up in logs. Send the key as "Authorization: Bearer KEY", and rotate this one: automate keys rotate NAME.',
  'key-missing': 'Send a key as "Authorization: Bearer KEY" or "X-API-Key: KEY". The operator makes one with automate keys create NAME.',
  'key-invalid': 'The key is unknown here, mistyped or revoked. Ask the operator for another.',
  'key-expired': 'The key was made for a limited time. Ask the operator for another.',
  'credits-used-up':
    'The credits of this month are used up. "of" is the key or the allowance that has none left, and "resets_at" is when new ones are available.',
  'scope-missing': 'The key does not have the scope in "scope". Ask the operator for a key that has it.',
  'cross-site': 'A page of a different site sent this request. Use the page of this server.',
  'session-missing': 'Open a new link to the page: automate serve login.',
  'not-found': 'Nothing with this name exists, or the key is not allowed to see it.',
  'method-not-allowed': 'The header Allow lists the methods of this address.',
  'flow-invalid': 'The flow is not valid: "errors" lists its problems. The operator sees them with automate validate.',
  'run-state': 'The current state of the run, which is in "state", does not allow this.',
  'call-in-progress': 'Wait for the answer of the first request, and repeat this one with the same Idempotency-Key.',
  'changed-meanwhile': 'The file was changed since it was read. Read it again, and repeat the change.',
  'too-large': 'Send less than "limit" bytes: split the records into several runs.',
  'media-type': 'Send one of the types in "expected", and give it in Content-Type.',
  'host-not-served': 'The operator can allow more hosts with --allow-host.',
  'record-failed':
    '"error" says which node failed and why. Send the record again only if the error might be temporary: the call costs credits again.',
  'input-unreadable': 'Correct the body at "line", and send it again.',
  'idempotency-key-reused': 'Use a new Idempotency-Key for a different body.',
  'rate-limited': 'Wait for the number of seconds in Retry-After.',
  internal: 'Please report it with the request id in "instance". The log of the server has the reason.',
  'queue-full': 'The server is busy. Send it again after the number of seconds in Retry-After.',
  'queue-away': 'The server cannot reach the Redis of its workers. Runs wait until it can: the operator has to start it.',
  stopping: 'The server is stopping or restarting. Send it again after the number of seconds in Retry-After.',
  'credential-missing': 'The flow needs the credential in "credential". The operator stores it with automate credentials set NAME.',
  'call-timeout': 'The flow took longer than the request waits: "Prefer: wait=60" waits longer, and a run has no time limit.',
  'disk-full': 'The operator has to free space, or to raise --max-disk.',
};

/** Adds the documentation pages to which the `type` URLs of problem responses lead. Anybody can read them. */
export function addProblemPages(app: FastifyInstance): void {
  addRoutes(app, '/problems/:name', {
    GET: {
      schema: { hide: true } as object,
      handler: async (request, reply) => {
        const { name } = request.params as { readonly name: string };
        const found = problemNames.find((one) => one === name);
        if (!found) throw new ProblemResponse('not-found', `there is no problem "${name}"`);
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
