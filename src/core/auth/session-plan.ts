import { compilePath, type Path } from '../answer/path.ts';
import { type AnswerCondition, compileAnswerCondition } from '../condition/condition.ts';
import { noClock } from '../condition/evaluation.ts';
import { ExpressionError } from '../condition/expression-error.ts';
import type { BuildContext } from '../node.ts';
import { canHaveBody } from '../options/methods.ts';
import type { SecretBody } from '../ports.ts';
import { bodyTemplate, type SecretKind, secretsWithin, secretValue } from '../template/body.ts';
import { formTemplate } from '../template/form.ts';
import { headerTemplate, referencedFields } from '../template/template.ts';
import { urlTemplate } from '../template/url.ts';
import { orUndefined, type Value } from '../value/value.ts';
import { type Auth, authProblem, type Session } from './auth.ts';
import { cookieIn, type LoginRequest, type SentValue } from './session.ts';

export interface LoginPlan {
  readonly method: string;
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, SentValue>>;
  readonly body?: string;
  readonly secretBody?: SecretBody;
  readonly auth: readonly Auth[];
  readonly take: readonly Taken[];
  readonly expect?: AnswerCondition;
}

/** A value that later requests need. The value of a cookie is always the current one. */
export interface Taken {
  readonly name: string;
  readonly from: { readonly cookie: string } | { readonly paths: readonly Path[] };
}

export interface SessionPlan {
  readonly logins: readonly LoginPlan[];
  readonly renewWhen?: AnswerCondition;
  /** The paths of the seconds that a session lasts. The first that finds a value counts. */
  readonly lasts?: readonly Path[];
}

type Problem = BuildContext['problem'];

interface PlanTools {
  readonly allowHttp: boolean;
  /** Paths are those within `auth`. */
  problem: Problem;
}

/** Reports problems; a plan with a reported problem must not be used. */
export function planSession(session: Session, { allowHttp, problem }: PlanTools): SessionPlan {
  const { login, renewWhen, lasts } = session;
  return {
    logins: login.map((request, index) => {
      const own: Problem = (at, message, offset) => problem(['login', index, ...at], message, offset);
      return planLogin(request, session, { allowHttp, problem: own });
    }),
    renewWhen: renewWhen === undefined ? undefined : conditionOf(renewWhen, ['renew_when'], problem),
    lasts: typeof lasts === 'string' ? pathsOf(lasts) : undefined,
  };
}

const contentTypes = { body: 'application/json', form: 'application/x-www-form-urlencoded', text: 'text/plain; charset=utf-8' };

function planLogin(request: LoginRequest, { base }: Session, { allowHttp, problem }: PlanTools): LoginPlan {
  const tried = <Result>(at: readonly (string | number)[], compile: () => Result): Result | undefined => {
    try {
      return compile();
    } catch (error) {
      problem(at, (error as Error).message);
      return undefined;
    }
  };
  refuseFields(request, problem);
  const url = tried(['url'], () => urlTemplate(request.url, { baseUrl: base, allowHttp }).render(new Map()));
  const payload = payloadOf(request);
  const method = request.method ?? (payload ? 'POST' : 'GET');
  if (payload && !canHaveBody(method)) problem([payload.name], `a ${method} request has no body`);
  const headers: Record<string, SentValue> = {};
  const auth = request.auth ? [request.auth as Auth] : [];
  if (!hasHeader(request, 'accept')) headers.Accept = 'application/json, */*;q=0.5';
  if (payload && !hasHeader(request, 'content-type')) headers['Content-Type'] = contentTypes[payload.name];
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    if (typeof value === 'string') tried(['headers', name], () => headerTemplate(name, value));
    if (typeof value === 'object' && 'credential' in value) auth.push({ type: 'api_key', credential: value.credential, header: name });
    else headers[name] = value;
  }
  const wrong = request.auth ? authProblem(request.auth as Auth, allowHttp) : undefined;
  if (wrong) problem(['auth', wrong.option], wrong.message);
  return {
    ...{ method, origin: url?.origin ?? '', path: url?.path ?? '', headers },
    ...(payload && tried([payload.name], () => bodyOf(payload))),
    auth,
    take: Object.entries(request.take ?? {}).map(([name, text]) => takenBy(name, text)),
    expect: request.expect === undefined ? undefined : conditionOf(request.expect, ['expect'], problem),
  };
}

function hasHeader({ headers = {} }: LoginRequest, wanted: string): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === wanted);
}

interface Payload {
  readonly name: keyof typeof contentTypes;
  readonly value: Value;
}

function payloadOf({ body, form, text }: LoginRequest): Payload | undefined {
  if (body !== undefined) return { name: 'body', value: body as Value };
  if (form !== undefined) return { name: 'form', value: form as Value };
  return text === undefined ? undefined : { name: 'text', value: text };
}

const kinds: readonly SecretKind[] = ['credential', 'session'];

function bodyOf({ name, value }: Payload): Pick<LoginPlan, 'body' | 'secretBody'> {
  if (name === 'text') return { body: value as string };
  const special = (member: Value) => secretValue(member, kinds);
  const render = name === 'form' ? formTemplate(value as Record<string, Value>, special) : bodyTemplate(value, () => false, special);
  const body = render(new Map(), noClock);
  const secrets = secretsWithin(value, [], kinds);
  if (secrets.length === 0) return { body };
  const named = (wanted: SecretKind) => [...new Set(secrets.flatMap((one) => (one.kind === wanted ? [one.name] : [])))];
  return {
    body,
    secretBody: {
      credentials: named('credential'),
      sessions: named('session'),
      render: (secretOf) => render(new Map(), noClock, secretOf),
    },
  };
}

/** All records share the session, so a login cannot depend on one of them. */
function refuseFields({ url, headers, body, form, text }: LoginRequest, problem: Problem): void {
  for (const [name, value] of Object.entries({ url, headers, body, form, text })) {
    const field = fieldIn(value);
    if (field !== undefined) problem([name], `a login cannot have {{${field}}}: all records share the session`);
  }
}

function fieldIn(value: unknown): string | undefined {
  if (typeof value === 'string') return referencedFields(value)[0];
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const found = fieldIn(name) ?? fieldIn(member);
    if (found !== undefined) return found;
  }
  return undefined;
}

function takenBy(name: string, text: string): Taken {
  const cookie = cookieIn(text);
  return { name, from: cookie === undefined ? { paths: pathsOf(text) } : { cookie } };
}

/** In `map`, paths begin in the body; in conditions, they begin with the word `body`. Both are understood. */
function pathsOf(text: string): readonly Path[] {
  const inBody = /^body(?=[.[])\.?(.+)$/s.exec(text)?.[1];
  const paths = inBody === undefined ? [] : [orUndefined(() => compilePath(inBody))];
  return [...paths.filter((path) => path !== undefined), compilePath(text === 'body' ? '$body' : text)];
}

function conditionOf(text: string, at: readonly string[], problem: Problem): AnswerCondition | undefined {
  try {
    return compileAnswerCondition(text, ['status', 'headers', 'body']);
  } catch (error) {
    problem(at, (error as Error).message, error instanceof ExpressionError ? error.offset : undefined);
    return undefined;
  }
}
