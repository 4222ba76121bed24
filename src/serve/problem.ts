/** With HTTP status and title (RFC 9457). */
const problems = {
  'bad-request': [400, 'The request is not valid'],
  'key-in-query': [400, 'The URL contains a key'],
  'key-missing': [401, 'An API key is needed'],
  'key-invalid': [401, 'The API key is not valid'],
  'key-expired': [401, 'The API key has expired'],
  'credits-used-up': [402, 'The credits are used up'],
  'scope-missing': [403, 'The API key lacks a scope'],
  'cross-site': [403, 'The request comes from another site'],
  'session-missing': [403, 'There is no session'],
  'not-found': [404, 'Not found'],
  'method-not-allowed': [405, 'Method not allowed'],
  'flow-invalid': [409, 'The flow is not valid'],
  'run-state': [409, 'The run is in another state'],
  'call-in-progress': [409, 'The same call is in progress'],
  'changed-meanwhile': [412, 'Changed in the meantime'],
  'too-large': [413, 'The body is too large'],
  'media-type': [415, 'The media type is not served'],
  'host-not-served': [421, 'The host is not served'],
  'record-failed': [422, 'The record failed'],
  'input-unreadable': [422, 'The input cannot be read'],
  'idempotency-key-reused': [422, 'The idempotency key belongs to another request'],
  'rate-limited': [429, 'Too many requests'],
  internal: [500, 'A bug'],
  'queue-full': [503, 'The queue is full'],
  'queue-away': [503, 'The workers cannot be reached'],
  stopping: [503, 'The server is stopping'],
  'credential-missing': [503, 'A credential is missing'],
  'call-timeout': [504, 'The call took too long'],
  'disk-full': [507, 'The disk is full'],
} as const satisfies Record<string, readonly [status: number, title: string]>;

export type ProblemName = keyof typeof problems;

export const problemNames = Object.keys(problems) as ProblemName[];

/** Members that a problem response has in addition to the standard ones. */
type ProblemMembers = Readonly<Record<string, unknown>>;

export class ProblemResponse extends Error {
  readonly status: number;

  /** `detail` is an explanation in plain words. It contains no secrets and no paths on the server's machine. */
  constructor(
    readonly problem: ProblemName,
    readonly detail: string,
    readonly members: ProblemMembers = {},
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail);
    this.status = problems[problem][0];
  }

  /** `request` is the id of the request. */
  body(request: string): Record<string, unknown> {
    const { problem, status, detail, members } = this;
    return { type: `/problems/${problem}`, title: titleOf(problem), status, detail, instance: `/requests/${request}`, ...members };
  }
}

export function titleOf(name: ProblemName): string {
  return problems[name][1];
}

export function statusOf(name: ProblemName): number {
  return problems[name][0];
}
