import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments } from 'yaml';

/** The folder of the example for workers. */
export const workersExample = fileURLToPath(new URL('../../examples/workers/', import.meta.url));

const textOf = (name: string) => readFileSync(workersExample + name, 'utf8');

/** A service in compose.yaml. */
export interface ComposeService {
  readonly image?: string;
  readonly command?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, object>>;
  readonly deploy?: { readonly replicas: number };
  readonly stop_grace_period?: string;
  readonly healthcheck: { readonly test?: readonly string[]; readonly disable?: boolean };
}

/** The content of compose.yaml, with its anchors merged. */
export const compose: { readonly services: Readonly<Record<string, ComposeService>>; readonly volumes: object } = parse(
  textOf('compose.yaml'),
  { merge: true },
);

/** A container in a pod. */
export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: ValueFrom }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly resources: { readonly requests: object };
  readonly securityContext: object;
}

interface ValueFrom {
  readonly secretKeyRef: { readonly name: string; readonly key: string };
}

/** A Kubernetes manifest. */
export interface Manifest {
  readonly file: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  // biome-ignore lint/suspicious/noExplicitAny: each kind has its own
  readonly spec: any;
  readonly stringData?: Readonly<Record<string, string>>;
}

/** All Kubernetes manifests of the example, without the one for the flow. */
export const manifests: readonly Manifest[] = [
  'one-process.yaml',
  ...readdirSync(`${workersExample}kubernetes`).map((name) => `kubernetes/${name}`),
].flatMap((file) => parseAllDocuments(textOf(file)).map((document) => ({ file, ...document.toJS() })));

/** Returns the only manifest of a kind in a file. */
export function manifest(file: string, kind: string): Manifest {
  const found = manifests.find((one) => one.file === file && one.kind === kind);
  if (!found) throw new Error(`${file} has no ${kind}`);
  return found;
}

/** Returns the only container in the pod of a manifest. */
export function containerOf({ spec }: Manifest): Container {
  return spec.template.spec.containers[0];
}
