import fc from 'fast-check';
import nock from 'nock';

// No test reaches another machine by Node's own clients; those of the tool itself are pointed at servers of the tests.
nock.disableNetConnect();
nock.enableNetConnect(/^(?:127\.0\.0\.1|localhost|\[?::1\]?)(?::|$)/);

// The same examples every time, so that a red run is red again; SEED=random looks for new ones.
if (process.env.SEED !== 'random') fc.configureGlobal({ seed: Number(process.env.SEED ?? 20_261_120) });
