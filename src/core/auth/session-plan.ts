import { compilePath, type Path } from '../answer/path.ts';
import { type AnswerCondition, compileAnswerCondition } from '../condition/condition.ts';
import { noClock } from '../condition/evaluation.ts';
import { ExpressionError } from '../condition/expression-error.ts';
import type { ReportProblem } from '../node.ts';
import { canHaveBody } from '../options/methods.ts';
import type { SecretBody } from '../ports.ts';
import {
  type BodyOption,
  bodyTemplate,
  contentTypes,
  namesOf,
  payloadOf,
  type SecretKind,
  secretsWithin,
  secretValue,
} from '../template/body.ts';
import { formTemplate } from '../template/form.ts';
import { headerTemplate, referencedFields } from '../template/template.ts';
import { urlTemplate } from '../template/url.ts';
import { orUndefined, type Value } from '../value/value.ts';
import { type Auth, authProblem, type SessionAuth } from './auth.ts';
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

interface PlanTools {
  readonly allowHttp: boolean;
  /** Paths are those within `auth`. */
  readonly problem: ReportProblem;
}

/** Reports problems; a plan with a reported problem must not be used. */
export function planSession(session: SessionAuth, { allowHttp, problem }: PlanTools): SessionPlan {
  const { login, renewWhen, lasts } = session;
  return {
    logins: login.map((request, index) => {
      const own: ReportProblem = (at, message, offset) => problem(['login', index, ...at], message, offset);
      return planLogin(request, session, { allowHttp, problem: own });
    }),
    renewWhen: conditionOf(renewWhen, ['renew_when'], problem),
    lasts: typeof lasts === 'string' ? pathsOf(lasts) : undefined,
  };
}

function planLogin(request: LoginRequest, { base }: SessionAuth, { allowHttp, problem }: PlanTools): LoginPlan {
  refuseFields(request, problem);
  const url = tried(problem, ['url'], () => urlTemplate(request.url, { baseUrl: base, allowHttp }).render(new Map()));
  const payload = payloadOf(request);
  const method = request.method ?? (payload ? 'POST' : 'GET');
  if (payload && !canHaveBody(method)) problem([payload.name], `a ${method} request has no body`);
  for (const [name, value] of Object.entries(request.headers ?? {}))
    if (typeof value === 'string') tried(problem, ['headers', name], () => headerTemplate(name, value));
  const wrong = request.auth ? authProblem(request.auth as Auth, { allowHttp, origin: url?.origin }) : undefined;
  if (wrong) problem(['auth', wrong.option], wrong.message);
  return {
    ...{ method, origin: url?.origin ?? '', path: url?.path ?? '' },
    ...headersOf(request, payload),
    ...(payload && tried(problem, [payload.name], () => bodyOf(payload))),
    take: Object.entries(request.take ?? {}).map(([name, text]) => takenBy(name, text)),
    expect: conditionOf(request.expect, ['expect'], problem),
  };
}

/** A secret in a header is sent as an API key is. */
function headersOf(
  { headers: written = {}, auth: own }: LoginRequest,
  payload: BodyOption | undefined,
): Pick<LoginPlan, 'headers' | 'auth'> {
  const names = new Set(Object.keys(written).map((name) => name.toLowerCase()));
  const headers: Record<string, SentValue> = {
    ...(!names.has('accept') && { Accept: 'application/json, */*;q=0.5' }),
    ...(payload && !names.has('content-type') && { 'Content-Type': contentTypes[payload.name] }),
  };
  const auth = own ? [own as Auth] : [];
  for (const [name, value] of Object.entries(written)) {
    if (typeof value === 'object' && 'credential' in value) auth.push({ type: 'api_key', credential: value.credential, header: name });
    else headers[name] = value;
  }
  return { headers, auth };
}

const kinds: readonly SecretKind[] = ['credential', 'session'];

function bodyOf({ name, value }: BodyOption): Pick<LoginPlan, 'body' | 'secretBody'> {
  if (name === 'text') return { body: value as string };
  const special = (member: Value) => secretValue(member, kinds);
  const render = name === 'form' ? formTemplate(value as Record<string, Value>, special) : bodyTemplate(value, () => false, special);
  const body = render(new Map(), noClock);
  const secrets = secretsWithin(value, [], kinds);
  if (secrets.length === 0) return { body };
  return { body, secretBody: { ...namesOf(secrets), render: (secretOf) => render(new Map(), noClock, secretOf) } };
}

/** All records share the session, so a login cannot depend on one of them. */
function refuseFields({ url, headers, body, form, text }: LoginRequest, problem: ReportProblem): void {
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

function conditionOf(text: string | undefined, at: readonly string[], problem: ReportProblem): AnswerCondition | undefined {
  return text === undefined ? undefined : tried(problem, at, () => compileAnswerCondition(text, ['status', 'headers', 'body']));
}

function tried<Result>(problem: ReportProblem, at: readonly string[], compile: () => Result): Result | undefined {
  try {
    return compile();
  } catch (error) {
    problem(at, (error as Error).message, error instanceof ExpressionError ? error.offset : undefined);
    return undefined;
  }
}
