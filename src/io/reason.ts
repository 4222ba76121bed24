/** What the system says went wrong with a file, without the call and the path: the message names the file that the user knows. */
export function reasonOf(error: Error): string {
  return error.message.replace(/, \w+(?: '.*')?$/s, '');
}
