import { randomUUID } from 'node:crypto';
import type { ClientCertificate } from '../core/connection.ts';
import type { Event } from '../core/event.ts';
import { errorOf, LimitReached } from '../core/failure.ts';
import type { CredentialUse, Plan } from '../core/plan.ts';
import type { SessionOptions } from '../core/run-options.ts';
import { type FlowSecrets, loadSecretsOf } from '../credentials/flow-secrets.ts';
import type { Messages } from '../credentials/messages.ts';
import type { Redactor } from '../credentials/redact.ts';
import type { MonthlyUsage } from '../credits/holds.ts';
import { openRunLedger, pricesOf } from '../credits/prices.ts';
import type { PayingKey } from '../credits/rest.ts';
import type { Price, RunLedger } from '../credits/run-ledger.ts';
import type { KeptAnswers } from '../http/answers/kept-answers.ts';
import type { LoginPerson } from '../http/auth/browser.ts';
import type { CertifiedRoutes } from '../http/client-certificate.ts';
import { type RouteOptions, Routes } from '../http/routes.ts';
import type { RunFilesOptions } from '../http/transfers/run-files.ts';
import { type WiredPorts, wire } from './wire.ts';

/** The work for which a session is opened: its name in messages, its credentials and its prices. */
export interface SessionUse {
  /** The path of the flow file, or another name for the work, such as `connection crm`. */
  readonly name: string;
  readonly credentials: readonly CredentialUse[];
  readonly certificates?: readonly ClientCertificate[];
  /** Keyed by node id. Empty if the session spends no credits. */
  readonly prices: ReadonlyMap<string, Price>;
}

/** Objects that a session uses instead of creating its own. */
export interface SessionParts {
  readonly credentials?: FlowSecrets;
  /** Shared by all runs of the process. If undefined, the session opens its own, and closes them at its end. */
  readonly routes?: Routes;
  /** The API key that pays; undefined for the command line and the web page. */
  readonly key?: PayingKey;
  readonly run?: RunSpendings;
  readonly files?: RunFilesOptions;
  readonly answers?: KeptAnswers;
  readonly person?: LoginPerson;
  report?(event: Event): void;
}

/** A run's UUID, and what it had spent before it was resumed. */
interface RunSpendings {
  readonly id: string;
  readonly credits: number;
  /** Money spent by each node; undefined if none was spent. */
  readonly costs: Readonly<Record<string, number>> | undefined;
  readonly isFree?: boolean;
}

/** Everything that runs, tests and lookups need from outside the engine: ports, secrets and credits. */
export interface Session {
  readonly ports: WiredPorts;
  readonly credentials: FlowSecrets;
  readonly ledger: RunLedger;
  readonly redactor: Redactor;
  /** Also records which credentials were used. Undefined if there is no monthly credit allowance. A second call does nothing. */
  close(): Promise<MonthlyUsage | undefined>;
}

/** Returns the part of a plan that a session needs. `name` is the path of the flow file. */
export function useOf(plan: Plan, name: string, env: string | undefined): SessionUse {
  return { name, credentials: plan.credentials, certificates: plan.certificates, prices: pricesOf(plan, env) };
}

/**
 * The caller must close the session in a `finally`. Throws a FlowError (`credential`) if a secret is missing, and an AutomateError if the
 * ledger or a certificate cannot be read. If it throws, nothing stays open.
 */
export async function openSession(
  use: SessionUse,
  options: SessionOptions,
  messages: Messages,
  parts: SessionParts = {},
): Promise<Session> {
  const { env, cacert, allowHttp = false, maxCredits } = options;
  const { redactor, warn, findAsker } = messages;
  const { key, run, person, report = () => undefined } = parts;
  const id = run?.id ?? randomUUID();
  const credentials = parts.credentials ?? (await loadSecretsOf(use.credentials, use.name, { env }, messages));
  const routes = parts.routes ?? new Routes({ cacert, environment: process.env, warn });
  const certified = await certifiedRoutes(use.certificates, credentials, { cacert, environment: process.env, warn });
  const ledger = await openRunLedger(use.prices, { run: id, env, maxCredits, before: run?.credits ?? 0, isFree: run?.isFree, key, warn });
  const ports = wire({
    run: id,
    credentials,
    redactor,
    allowHttp,
    cacert,
    files: parts.files ?? { folder: undefined },
    ledger,
    costs: run?.costs,
    env,
    routes,
    certified,
    answers: parts.answers,
    report,
    warn,
    findAsker,
    person,
  });
  let usage: MonthlyUsage | undefined;
  let closing: Promise<MonthlyUsage | undefined> | undefined;
  return {
    ports,
    credentials,
    ledger,
    redactor,
    close() {
      closing ??= closeAll();
      return closing;
    },
  };

  async function closeAll(): Promise<MonthlyUsage | undefined> {
    try {
      await ports.close();
    } finally {
      if (!parts.routes) routes.destroy();
      certified?.destroy();
      await credentials.usesRecorded();
      usage = ledger.close();
    }
    return usage;
  }
}

/** The error of a failed command that prints a secret becomes an AutomateError, because the run has not started. */
function throwAsError(error: unknown): never {
  throw error instanceof LimitReached ? errorOf('credential', error) : error;
}

/** Connections with client certificates; undefined if there are none. Loads the code for them only if a flow needs it. */
export async function certifiedRoutes(
  certificates: readonly ClientCertificate[] = [],
  { secrets, commands, used }: FlowSecrets,
  options: RouteOptions,
): Promise<CertifiedRoutes | undefined> {
  if (certificates.length === 0) return undefined;
  const { openCertified } = await import('../http/client-certificate.ts');
  const passphrases = certificates.flatMap(({ passphrase }) => passphrase ?? []);
  const given = (await commands?.find(passphrases).catch(throwAsError)) ?? [];
  const routes = openCertified(certificates, { ...options, secrets: new Map([...secrets, ...given]) });
  // Marks the passphrase of the private key as used: it works, because the key was decrypted with it.
  for (const passphrase of passphrases) used(passphrase);
  return routes;
}
