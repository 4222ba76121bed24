import { type AuthPart, optionValue, type SigningType } from '../../core/auth/auth-type.ts';
import { authTypes } from '../../core/auth/auth-types.ts';
import { ProblemResponse } from '../problem.ts';

/** A login in a browser is not among them, because only the command line can open it. */
const types = authTypes as unknown as readonly SigningType[];

const partsOf = ({ parts }: SigningType): readonly (readonly [string, AuthPart])[] => Object.entries<AuthPart>(parts);

export function shownAuthTypes() {
  return types.map((type) => {
    const parts = partsOf(type);
    return {
      type: type.type,
      label: type.label,
      /** False if the fields name the secrets. */
      has_credential: parts.some(([key]) => key === 'credential'),
      is_for_mcp: type.from !== 'session',
      fields: parts.filter(([key]) => key !== 'credential').map(([key, part]) => fieldOf(key, part, parts)),
    };
  });
}

function fieldOf(name: string, part: AuthPart, all: ReturnType<typeof partsOf>) {
  const { question, isOptional, replaces, isMapping, isList, isData, example = '' } = part;
  const form = isData ? 'JSON' : isMapping ? 'a line for each: NAME=VALUE' : isList ? 'separated by commas' : undefined;
  const isReplaced = all.some(([, other]) => other.replaces === name);
  return {
    name,
    label: name.replaceAll('_', ' ').replace(/^./, (first) => first.toUpperCase()),
    hint: [question, form].filter((text) => text !== undefined).join('; '),
    example,
    is_long: isMapping === true || isData === true,
    is_required: question !== undefined && !isOptional && replaces === undefined && !isReplaced,
  };
}

/** Converts the texts of the form. Throws a Problem (`bad-request`) for a type or an option that does not exist. */
export function authOfForm({ type, ...texts }: Readonly<Record<string, string>>): Record<string, unknown> | undefined {
  if (type === 'none') return undefined;
  const found = types.find((one) => one.type === type);
  if (!found) throw new ProblemResponse('bad-request', `auth: expected none, ${types.map((one) => one.type).join(', ')}`);
  const parts = new Map(partsOf(found));
  const options = Object.entries(texts).flatMap(([key, text]) => {
    const part = parts.get(key);
    if (!part) throw new ProblemResponse('bad-request', `auth: ${found.type} has no option of that name`);
    return text === '' ? [] : [[key, valueFor(key, text, part)] as const];
  });
  return { type: found.type, ...Object.fromEntries(options) };
}

function valueFor(key: string, text: string, part: AuthPart): unknown {
  try {
    return optionValue(text, part);
  } catch (error) {
    throw new ProblemResponse('bad-request', `${key}: ${(error as Error).message}`);
  }
}
