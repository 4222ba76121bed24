import type { Event } from '../core/event.ts';
import type { Cache, Clock, HttpResponse, Ledger, Ports } from '../core/ports.ts';
import { RunSpending } from '../credits/spending.ts';
import { createDocuments } from '../http/documents/documents.ts';
import { createLateLookups } from '../places/late-lookups.ts';
import { createUuids } from '../run/uuids.ts';
import { createTestHttp, type TestHttpParts } from './test-http.ts';
import { createTestTools } from './test-tools.ts';

/**
 * Makes the ports (access to network, cache and ledger) for a test. Nothing is sent, stored or paid. Only the data embedded in automate is
 * real.
 */
export function createTestPorts(parts: TestHttpParts, report: (event: Event) => void): Ports {
  return {
    clock: parts.clock,
    http: createTestHttp(parts),
    tools: createTestTools(parts.answers, parts.clock),
    lookups: createLateLookups(),
    ledger: freeLedger,
    cache: memoryCache(parts.clock),
    documents: createDocuments(parts.clock),
    spending: new RunSpending(undefined),
    report,
    uuidOf: createUuids('test'),
    // Makes every wait last its full length, so that tests are repeatable. In a run, random jitter shortens a wait by up to half.
    random: () => 1,
  };
}

/** A ledger that grants any number of credits and counts none of them. */
export const freeLedger: Ledger = {
  hold: () => undefined,
  settle: () => undefined,
  release: () => undefined,
  usedUp: () => undefined,
  affords: () => true,
};

/** Makes an answer cache that starts empty and is discarded after the test. */
function memoryCache(clock: Clock): Cache {
  const found = new Map<string, { readonly response: Promise<HttpResponse>; cachedMs: number | undefined }>();
  return {
    through(key, maxAgeMs, produce, hit) {
      const known = found.get(key);
      if (known && (known.cachedMs === undefined || clock.now() < known.cachedMs + maxAgeMs)) {
        hit(known.cachedMs === undefined ? 'in-flight' : 'cached');
        return known.response;
      }
      const entry = { response: produce(), cachedMs: undefined as number | undefined };
      found.set(key, entry);
      entry.response.then(
        () => {
          entry.cachedMs = clock.now();
        },
        () => found.delete(key),
      );
      return entry.response;
    },
  };
}
