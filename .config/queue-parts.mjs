// The client of Redis, and the queue on it, in one file: they share the client's classes.
export { DelayedError, Queue, WaitingError, Worker } from 'bullmq';
export { Redis } from 'ioredis';
