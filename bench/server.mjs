// Answers every HTTP/1.1 request with the same JSON, as fast as a socket allows, after an optional delay.
// Started with fork: `server.mjs [DELAY_MS]`. Sends {port}, and in reply to any message the CPU time that it has used and the mean delay
// since the last message.
import { createServer } from 'node:net';
import { answer } from './data.mjs';

const delayMs = Number(process.argv[2] ?? 0);
const body = JSON.stringify(answer);
const response = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: keep-alive\r\n\r\n${body}`,
);

const server = createServer({ noDelay: true }, (socket) => {
  const requestsIn = requestCounter();
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    for (let left = requestsIn(chunk); left > 0; left--) {
      if (delayMs === 0) socket.write(response);
      else later(socket);
    }
  });
});
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('message', () => {
  process.send({ ...process.cpuUsage(), meanDelayMs: answered === 0 ? 0 : delayedMs / answered });
  answered = 0;
  delayedMs = 0;
});
process.on('disconnect', () => process.exit());

/** Returns a function that counts the requests that end in each chunk of a connection, wherever the chunks split them. */
function requestCounter() {
  let head = '';
  let bodyLeft = 0;
  return (chunk) => {
    let requests = 0;
    let text = head + chunk.latin1Slice();
    for (;;) {
      if (bodyLeft > text.length) {
        bodyLeft -= text.length;
        text = '';
        break;
      }
      if (bodyLeft > 0) {
        text = text.slice(bodyLeft);
        bodyLeft = 0;
        requests++;
      }
      const end = text.indexOf('\r\n\r\n');
      if (end === -1) break;
      bodyLeft = Number(/\r\ncontent-length: *(\d+)/i.exec(text.slice(0, end))?.[1] ?? 0);
      text = text.slice(end + 4);
      if (bodyLeft === 0) requests++;
    }
    head = text;
    return requests;
  };
}

/** Pending answers, sorted by the time at which they are due. */
const waiting = [];

/** Number of answers since the last message. Their real delay is measured, because a busy machine answers late. */
let answered = 0;
let delayedMs = 0;

function later(socket) {
  waiting.push({ due: performance.now() + delayMs, socket });
  if (waiting.length === 1) setTimeout(answerDue, delayMs - 2);
}

/**
 * Sends the answers that are due. Timers fire up to 2 ms late, so the timer is set early, and event loop turns fill the rest of
 * the time.
 */
function answerDue() {
  const now = performance.now();
  const more = waiting.findIndex(({ due }) => due > now);
  for (const { socket, due } of waiting.splice(0, more === -1 ? waiting.length : more)) {
    socket.write(response);
    answered++;
    delayedMs += performance.now() - due + delayMs;
  }
  if (waiting.length === 0) return;
  const left = waiting[0].due - now;
  if (left > 3) setTimeout(answerDue, left - 2);
  else setImmediate(answerDue);
}
