/** The first argument of a child process in which records of a run pass the nodes. */
export const childArgument = 'worker-child';
