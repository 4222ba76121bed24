import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { compose, containerOf, type Manifest, manifest, manifests, workersExample } from './helpers/worker-files.ts';

const ofKind = (kind: string) => manifests.filter((one) => one.kind === kind);
const names = (kind: string) => ofKind(kind).map(({ metadata }) => metadata.name);
const withPods = manifests.filter(({ spec }) => spec?.template !== undefined);

/** The Services by name, each with its ports. */
const services = new Map(ofKind('Service').map(({ metadata, spec }) => [metadata.name, spec]));

const hasPort = (host: string, port: string) => services.get(host)?.ports.some((one: { port: number }) => one.port === Number(port));

test('each Kubernetes document has a version, a kind and a unique name', () => {
  expect(manifests.map(({ file }) => file)).toEqual(expect.arrayContaining(['kubernetes/secret.yaml', 'one-process.yaml']));
  for (const { file, apiVersion, kind, metadata } of manifests)
    expect([file, apiVersion, kind, metadata.name]).toEqual([file, expect.any(String), expect.any(String), expect.any(String)]);
  const all = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  expect(all.toSorted()).toEqual([...new Set(all)].toSorted());
});

describe.each(withPods.map((one) => [`${one.kind} ${one.metadata.name}`, one] as const))('the Kubernetes workload %s', (_title, one) => {
  const pod = one.spec.template.spec;
  const container = containerOf(one);

  test('is unprivileged, requests resources and has 30 s to shut down', () => {
    expect(pod).toMatchObject({
      terminationGracePeriodSeconds: 30,
      securityContext: { runAsNonRoot: true, runAsUser: expect.any(Number) },
    });
    expect(container.securityContext).toEqual({ allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } });
    expect(container.resources.requests).toEqual({ cpu: expect.any(String), memory: expect.any(String) });
    if (container.args.includes('--grace')) expect(Number.parseInt(container.args.at(-1) ?? '', 10)).toBe(25);
  });

  test('takes every secret from a key that exists in the Secret', () => {
    for (const { name, value, valueFrom } of container.env) {
      expect([name, value]).toEqual([name, name === 'AUTOMATE_HOME' ? '/work/.automate' : undefined]);
      if (valueFrom) expect(secretsOf(valueFrom.secretKeyRef.name)).toContain(valueFrom.secretKeyRef.key);
    }
  });

  test('mounts only volumes that exist', () => {
    const { volumes = [] } = pod as { volumes?: { name: string; persistentVolumeClaim?: Claim; configMap?: { name: string } }[] };
    const own = (one.spec.volumeClaimTemplates ?? []) as Manifest[];
    const known = [...volumes.map(({ name }) => name), ...own.map(({ metadata }) => metadata.name)];
    expect((container.volumeMounts ?? []).map(({ name }) => name).toSorted()).toEqual(known.toSorted());
    for (const { persistentVolumeClaim: claim, configMap } of volumes) {
      if (claim) expect(names('PersistentVolumeClaim')).toContain(claim.claimName);
      if (configMap) expect(readme).toContain(`kubectl create configmap ${configMap.name} --from-file=flow.yaml --from-file=airports.csv`);
    }
  });

  test('refers to Valkey by the name of its Service', () => {
    for (const [, host = '', port = ''] of container.args.join(' ').matchAll(/redis:\/\/([\w-]+):(\d+)/g))
      expect([host, port, hasPort(host, port)]).toEqual([host, port, true]);
  });
});

interface Claim {
  readonly claimName: string;
}

const readme = readFileSync(`${workersExample}README.md`, 'utf8');

function secretsOf(name: string): string[] {
  return ofKind('Secret').flatMap(({ metadata, stringData = {} }) => (metadata.name === name ? Object.keys(stringData) : []));
}

test('every value in the example Secret is the placeholder "change-me"', () => {
  expect(new Set(Object.values(manifest('kubernetes/secret.yaml', 'Secret').stringData ?? {}))).toEqual(new Set(['change-me']));
});

test('each example Service refers to a named port of its pods', () => {
  for (const { selector, ports } of services.values()) {
    const pods = withPods.filter(({ spec }) => spec.template.metadata.labels.app === selector.app);
    expect(pods).toHaveLength(1);
    const known = pods.flatMap((one) => containerOf(one).ports?.map(({ name }) => name));
    for (const { targetPort } of ports) expect(known).toContain(targetPort);
  }
});

test('an example Job continues after an eviction, but not if it is complete or its flow invalid', () => {
  expect(names('Job').toSorted()).toEqual(['airports', 'coordinator']);
  for (const job of ofKind('Job')) {
    const { backoffLimit, podFailurePolicy, template } = job.spec;
    expect([template.spec.restartPolicy, backoffLimit]).toEqual(['Never', 20]);
    expect(podFailurePolicy.rules).toEqual([
      { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
      { action: 'FailJob', onExitCodes: { containerName: containerOf(job).name, operator: 'In', values: [2, 3, 4, 6] } },
    ]);
    expect(containerOf(job).args).toContain('--resume');
  }
});

test('KEDA scales the example workers by the number of waiting and active units of records', () => {
  const { scaleTargetRef, triggers, advanced } = manifest('kubernetes/keda.yaml', 'ScaledObject').spec;
  expect(names(scaleTargetRef.kind)).toContain(scaleTargetRef.name);
  expect(triggers.map(({ type, metadata }: Trigger) => [type, metadata.valueLocation])).toEqual([
    ['metrics-api', 'runs.0.units.waiting'],
    ['metrics-api', 'runs.0.units.active'],
  ]);
  // The formula refers to the triggers by their names.
  expect(advanced.scalingModifiers.formula).toBe(triggers.map(({ name }: Trigger) => name).join(' + '));
  for (const { metadata } of triggers as Trigger[]) {
    const [, host = '', port = '', path] = /^http:\/\/([\w-]+)\.default\.svc:(\d+)(.*)$/.exec(metadata.url) ?? [];
    expect([host, port, path, hasPort(host, port)]).toEqual(['coordinator', '9090', '/status.json', true]);
  }
});

interface Trigger {
  readonly type: string;
  readonly name: string;
  readonly metadata: { readonly url: string; readonly valueLocation: string };
}

describe('the example compose.yaml', () => {
  test('defines Valkey, a run and three workers, and refers only to existing names', () => {
    expect(Object.keys(compose.services)).toEqual(['valkey', 'coordinator', 'worker']);
    expect(compose.services.worker?.deploy?.replicas).toBe(3);
    for (const { image, command, volumes = [], depends_on = {} } of Object.values(compose.services)) {
      expect([image, command]).toEqual([expect.any(String), expect.any(Array)]);
      for (const host of (command ?? []).join(' ').match(/(?<=redis:\/\/)\w+/g) ?? []) expect(compose.services).toHaveProperty(host);
      for (const name of Object.keys(depends_on)) expect(compose.services[name]?.healthcheck.test).toBeDefined();
      for (const [name = ''] of volumes.map((volume) => volume.split(':')))
        if (!name.startsWith('.')) expect(compose.volumes).toHaveProperty(name);
    }
  });

  test('takes every secret from the environment, and does not start without the secrets', () => {
    for (const { environment } of Object.values(compose.services))
      for (const [name, value] of Object.entries(environment)) expect(value).toBe(`\${${name}:?set it in .env}`);
    expect(compose.services.coordinator?.environment).not.toHaveProperty('AUTOMATE_CREDENTIAL_AIRPORTS_TOKEN');
  });

  test("gives a worker more time to stop than the worker's --grace", () => {
    const { command = [], stop_grace_period } = compose.services.worker ?? {};
    expect([command.slice(-2), stop_grace_period]).toEqual([['--grace', '25s'], '30s']);
  });
});
