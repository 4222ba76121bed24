import { durationMs } from './duration.ts';

/** Whom a run tells that it has ended. The secret of the credential is the address. */
export interface NoticeTarget {
  readonly kind: 'slack' | 'webhook' | 'ping';
  readonly credential: string;
}

export const noticeTargets = {
  expected: 'KIND:CREDENTIAL, such as slack:ops-channel (slack, webhook or ping)',
  isRepeatable: true as const,
  parse(text: string, before: readonly NoticeTarget[] = []): readonly NoticeTarget[] | undefined {
    const [, kind, credential] = /^(slack|webhook|ping):([A-Za-z0-9_][\w.-]*)$/.exec(text) ?? [];
    return credential === undefined ? undefined : [...before, { kind: kind as NoticeTarget['kind'], credential }];
  },
};

/** The end of a run, as far as conditions of notices look at it. Undefined members are not known, because the run could not start. */
export interface RunOutcome {
  readonly exitCode: number;
  readonly read?: number;
  readonly failed?: number;
  readonly ms: number;
  /** The run ended after its pilot, as it was asked to. */
  readonly isPilot?: boolean;
}

export type NoticeCondition = (run: RunOutcome) => boolean;

/** Every exit code but those of a run whose records are all read. */
const hasStopped: NoticeCondition = ({ exitCode, isPilot }) => exitCode !== 0 && exitCode !== 4 && !isPilot;

const simple: Readonly<Record<string, NoticeCondition>> = {
  failed: ({ failed = 0 }) => failed > 0,
  stopped: hasStopped,
  'read=0': ({ read }) => read === 0,
  always: () => true,
};

function conditionOf(text: string): NoticeCondition | undefined {
  if (Object.hasOwn(simple, text)) return simple[text];
  const [, number, percent] = /^failed>(\d+(?:\.\d+)?)(%?)$/.exec(text) ?? [];
  if (percent === '%') return ({ failed = 0, read = 0 }) => failed > (read * Number(number)) / 100;
  if (number !== undefined) return ({ failed = 0 }) => failed > Number(number);
  const [, time] = /^took>(.+)$/.exec(text) ?? [];
  const least = time === undefined ? undefined : durationMs(time);
  return least === undefined ? undefined : ({ ms }) => ms > least;
}

export const noticeConditions = {
  expected: 'a list of failed, failed>1%, failed>10, stopped, read=0, took>30m and always, with commas',
  isRepeatable: true as const,
  parse(text: string, before: readonly NoticeCondition[] = []): readonly NoticeCondition[] | undefined {
    const conditions = text.split(',').map((part) => conditionOf(part.trim()));
    return conditions.every((condition) => condition !== undefined) ? [...before, ...conditions] : undefined;
  },
};

export const usualConditions: readonly NoticeCondition[] = [simple.failed as NoticeCondition, hasStopped];
