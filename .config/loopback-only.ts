import nock from 'nock';

// No test reaches another machine by Node's own clients; those of the tool itself are pointed at servers of the tests.
nock.disableNetConnect();
nock.enableNetConnect(/^(?:127\.0\.0\.1|localhost|\[?::1\]?)(?::|$)/);
