import fc from 'fast-check';
import nock from 'nock';
import { loadExpressionLibrary } from '../src/core/condition/cel.ts';

// Tests must not reach other machines. Node.js's own clients are blocked here, and the client of `automate` is only pointed at test
// servers.
nock.disableNetConnect();
nock.enableNetConnect(/^(?:127\.0\.0\.1|localhost|\[?::1\]?)(?::|$)/);

// Generates the same examples in every run, so that a failing test fails again. SEED=random generates new ones.
if (process.env.SEED !== 'random') fc.configureGlobal({ seed: Number(process.env.SEED ?? 20_261_120) });

// Many tests compile flows or expressions without loading a flow file.
await loadExpressionLibrary();
