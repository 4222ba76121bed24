/** As the first command-line argument, this string makes the program a child process that runs nodes for its parent. */
export const childArgument = 'worker-child';
