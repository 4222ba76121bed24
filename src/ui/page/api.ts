/** RFC 9457 */
export interface ReportedProblem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly errors?: readonly { readonly pointer?: string; readonly message?: string; readonly detail?: string }[];
}

/** The error of a request that the server refused, or that did not reach the server. */
export class ApiError extends Error {
  constructor(readonly problem: ReportedProblem) {
    super(problem.detail);
  }

  get isLoggedOut(): boolean {
    return this.problem.type.endsWith('/session-missing');
  }
}

interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly json?: unknown;
  readonly body?: Blob;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** The page token proves that a request comes from this page. A cookie alone does not, because browsers send it to every port of a host. */
const tokenName = 'automate-page-token';

/** True if this browser has logged in. Only the server knows if the session is still open. */
export function hasToken(): boolean {
  return localStorage.getItem(tokenName) !== null;
}

/** The token is in a one-time link. */
export async function logIn(token: string): Promise<void> {
  const { page_token } = await requestJson<{ page_token: string }>('/session', { method: 'POST', json: { token } });
  localStorage.setItem(tokenName, page_token);
}

export async function logOut(): Promise<void> {
  await sendRequest('/session', { method: 'DELETE' }).catch(() => undefined);
  localStorage.removeItem(tokenName);
}

/** Throws an ApiError if the server refuses the request or cannot be reached. */
export async function requestJson<Answer>(path: string, given: ApiRequest = {}): Promise<Answer> {
  const response = await sendRequest(path, given);
  return (response.status === 204 ? undefined : await response.json()) as Answer;
}

/** Throws an ApiError unless the status is 2xx. */
export async function sendRequest(path: string, { method = 'GET', json, body, headers, signal }: ApiRequest = {}): Promise<Response> {
  const all = new Headers(headers);
  all.set('X-Automate-Page', localStorage.getItem(tokenName) ?? '');
  if (json !== undefined) all.set('Content-Type', 'application/json');
  const sent = json === undefined ? (body ?? null) : JSON.stringify(json);
  const response = await fetch(`/ui${path}`, { method, headers: all, body: sent, signal }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ApiError(unreachable);
  });
  if (response.ok) return response;
  throw new ApiError(await readProblem(response));
}

const unreachable: ReportedProblem = {
  type: 'unreachable',
  title: 'The server cannot be reached',
  status: 0,
  detail: 'it may have been stopped; start it with: automate serve',
};

async function readProblem(response: Response): Promise<ReportedProblem> {
  const title = `The server answered ${response.status}`;
  const given = (await response.json().catch(() => ({}))) as Partial<ReportedProblem>;
  return { type: 'unknown', title, detail: '', ...given, status: response.status };
}

/** A plain link would not send the page token, which the server requires. */
export async function download(path: string, name: string): Promise<void> {
  const response = await sendRequest(path);
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement('a');
  Object.assign(link, { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Unlike the router's hooks, it can be called anywhere. `replace` is true if the back button should skip the current path. */
export function goTo(path: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', path);
  else history.pushState(null, '', path);
  // The router shows the new path when it receives this event.
  dispatchEvent(new PopStateEvent('popstate'));
}
