// The Redis client and the queue that is built on it, as one file because they share the client's classes.
export { Queue, WaitingError, Worker } from 'bullmq';
export { Redis } from 'ioredis';
