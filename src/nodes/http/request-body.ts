import { Failure } from '../../core/failure.ts';
import type { BuildContext } from '../../core/node.ts';
import { credentialName } from '../../core/options/names.ts';
import type { SecretBody } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { type BodyTemplate, bodyTemplate } from '../../core/template/body.ts';
import { credentialsWithin } from '../../core/template/body-credential.ts';
import type { Value } from '../../core/value/value.ts';
import { tryOption } from '../call-policy.ts';
import type { HttpOptions } from './http-options.ts';

/** A compiled body. */
export interface RequestBody {
  /** Absent for a request without a body. */
  readonly render: BodyTemplate | undefined;
  /** The body with its secrets; absent if it holds none. Throws a Failure for an origin that gets no secrets. */
  readonly secrets?: (fields: Fields, to: { readonly origin: string; readonly isNamed: boolean }) => SecretBody;
}

/** Compiles the body of a node's requests. Problems are reported. */
export function compileBody({ body }: HttpOptions, context: BuildContext): RequestBody {
  const render = tryOption(context, ['body'], () => (body === undefined ? undefined : bodyTemplate(body as Value, context.isCell, true)));
  const credentials = checkedNames(body as Value | undefined, context);
  if (credentials.length === 0) return { render };
  return {
    render,
    secrets(fields, { origin, isNamed }) {
      if (!isNamed) throw notNamed(credentials, origin);
      return { credentials, render: (secretOf) => (render as BodyTemplate)(fields, secretOf) };
    },
  };
}

/** The credentials whose secrets a body holds. Reports names that no credential can have. */
function checkedNames(body: Value | undefined, context: BuildContext): readonly string[] {
  const found = credentialsWithin(body, ['body']);
  for (const { name, at } of found) {
    const [issue] = credentialName.safeParse(name).error?.issues ?? [];
    if (issue) context.problem(at, `${issue.message}\na body with data of that shape is written as JSON text`);
  }
  return [...new Set(found.map(({ name }) => name))];
}

function notNamed(credentials: readonly string[], origin: string): Failure {
  const names = credentials.map((name) => `"${name}"`).join(', ');
  const reason = 'the flow does not name that origin literally';
  return new Failure('request', `the body holds a secret (${names}), which is not sent to ${origin}: ${reason}`, { sent: false });
}
