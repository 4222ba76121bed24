import { randomUUID } from 'node:crypto';
import type { ClientCertificate } from '../core/auth/client-certificate.ts';
import type { Event } from '../core/event.ts';
import { errorOf, LimitReached } from '../core/failure.ts';
import type { CredentialUse, Plan } from '../core/plan.ts';
import type { LoginPerson } from '../io/auth/browser.ts';
import type { CertifiedRoutes } from '../io/http/client-certificate.ts';
import { type RouteOptions, Routes } from '../io/http/routes.ts';
import type { Usage } from '../io/ledger/holds.ts';
import type { PayingKey } from '../io/ledger/rest.ts';
import type { Price, RunLedger } from '../io/ledger/run-ledger.ts';
import type { Redactor } from '../io/secrets/redact.ts';
import type { RunFilesOptions } from '../io/transfers/run-files.ts';
import { type FlowSecrets, loadSecretsOf } from './flow/flow-secrets.ts';
import type { Messages } from './messages.ts';
import { openRunLedger, pricesOf } from './ports/run-ledger.ts';
import { type WiredPorts, wire } from './ports/wire.ts';

/** Settings of the requests that a session sends. */
export interface SessionOptions {
  /** The environment of the credentials; undefined for AUTOMATE_ENV. */
  readonly env?: string | undefined;
  /** A file with certificate authorities to trust besides the default ones. */
  readonly cacert?: string | undefined;
  readonly allowHttp?: boolean | undefined;
  /** The folder for the files that requests send and answers are saved to; undefined for the one of the input. */
  readonly files?: string | undefined;
  /** Maximum of the credits that the session may spend; undefined for no maximum. */
  readonly maxCredits?: number | undefined;
}

/** The purpose of a session: its name in problems, its credentials and its prices. */
export interface SessionUse {
  /** The file of a flow, or another name for what is done, such as `connection crm`. */
  readonly name: string;
  readonly credentials: readonly CredentialUse[];
  /** The client certificates of its connections; absent for none. */
  readonly certificates?: readonly ClientCertificate[];
  /** By node. Empty if nothing that the session does costs credits. */
  readonly prices: ReadonlyMap<string, Price>;
}

/** Parts that a session takes from others, in place of its own. */
export interface SessionParts {
  /** Secrets that are loaded already. */
  readonly credentials?: FlowSecrets;
  /** The connections of all runs of the process. Without them, the session opens its own, and closes them. */
  readonly routes?: Routes | undefined;
  /** The API key that pays; undefined for the command line and the page. */
  readonly key?: PayingKey | undefined;
  /** The run that the session serves: its UUID, and what its earlier parts have spent. */
  readonly run?: RunSpendings;
  /** The files that it may use; undefined for the folder in the options alone. */
  readonly files?: RunFilesOptions | undefined;
  /** The person who can log in to a server. */
  readonly person?: LoginPerson | undefined;
  /** Takes every event. */
  report?(event: Event): void;
}

/** A run that continues, with what it has spent before. */
export interface RunSpendings {
  readonly id: string;
  readonly credits: number;
  /** Money by node. */
  readonly costs: Readonly<Record<string, number>> | undefined;
  /** True if its credits are not counted, as in the demo. */
  readonly isFree?: boolean | undefined;
}

/** Everything outside that runs, tests and lookups use: ports, secrets and credits. */
export interface Session {
  readonly ports: WiredPorts;
  readonly credentials: FlowSecrets;
  readonly ledger: RunLedger;
  readonly redactor: Redactor;
  /**
   * Closes connections, tool servers, cache and ledger, and records the uses of credentials. A second call does nothing. Returns the use of
   * the allowance; undefined if there is none.
   */
  close(): Promise<Usage | undefined>;
}

/** The use that a plan makes of a session. `name`: the file of its flow. */
export function useOf(plan: Plan, name: string, env: string | undefined): SessionUse {
  return { name, credentials: plan.credentials, certificates: plan.certificates, prices: pricesOf(plan, env) };
}

/**
 * Opens a session. Its caller closes it in a `finally`. Throws a FlowError (`credential`) if a secret is missing, and an AutomateError if the
 * ledger or a certificate cannot be read; then nothing is left open.
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
    files: parts.files ?? { folder: options.files },
    ledger,
    costs: run?.costs,
    env,
    routes,
    certified,
    report,
    warn,
    ...(findAsker && { findAsker }),
    person,
  });
  let usage: Usage | undefined;
  let closing: Promise<Usage | undefined> | undefined;
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

  async function closeAll(): Promise<Usage | undefined> {
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

/** Throws the error of a command that gives no secret as one that keeps a run from starting. */
function throwAsError(error: unknown): never {
  throw error instanceof LimitReached ? errorOf('credential', error) : error;
}

/** Opens the routes of client certificates; undefined for none. Their code is loaded only for flows that have some. */
export async function certifiedRoutes(
  certificates: readonly ClientCertificate[] = [],
  { secrets, commands, used }: FlowSecrets,
  options: RouteOptions,
): Promise<CertifiedRoutes | undefined> {
  if (certificates.length === 0) return undefined;
  const { openCertified } = await import('../io/http/client-certificate.ts');
  const passphrases = certificates.flatMap(({ passphrase }) => passphrase ?? []);
  const given = (await commands?.find(passphrases).catch(throwAsError)) ?? [];
  const routes = openCertified(certificates, { ...options, secrets: new Map([...secrets, ...given]) });
  // A passphrase has done its work once it has opened its key.
  for (const passphrase of passphrases) used(passphrase);
  return routes;
}
