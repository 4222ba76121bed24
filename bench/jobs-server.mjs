// A server on which each path is a job that is done at its sixth request. It uses plain sockets, to leave most of the shared cores to the
// contestant.
// Started with fork: `jobs-server.mjs`. Sends {port}, and in reply to any message the times in ms from each answer to the next request.
import { createServer } from 'node:net';

const questions = 6;
const [working, done] = ['working', 'done'].map(answerOf);

/** For each path, the times at which its requests arrived and were answered. */
let jobs = new Map();

const server = createServer({ noDelay: true }, (socket) => {
  let text = '';
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    text += chunk.latin1Slice();
    for (let end = text.indexOf('\r\n\r\n'); end !== -1; end = text.indexOf('\r\n\r\n')) {
      question(socket, text.slice(0, text.indexOf(' HTTP/')));
      text = text.slice(end + 4);
    }
  });
});
server.listen(0, '127.0.0.1', 1024, () => process.send({ port: server.address().port }));
process.on('message', () => {
  process.send([...jobs.values()].flatMap((times) => times.slice(1).map(({ askedMs }, index) => askedMs - times[index].answeredMs)));
  jobs = new Map();
});
process.on('disconnect', () => process.exit());

function question(socket, job) {
  const askedMs = performance.now();
  const times = jobs.get(job) ?? [];
  jobs.set(job, times);
  socket.write(times.length + 1 < questions ? working : done);
  times.push({ askedMs, answeredMs: performance.now() });
}

function answerOf(status) {
  const body = JSON.stringify({ status });
  return Buffer.from(
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: keep-alive\r\n\r\n${body}`,
  );
}
