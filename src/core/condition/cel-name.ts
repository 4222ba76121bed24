/** The reserved words of CEL (Common Expression Language), which cannot be field names in an expression. */
const reserved =
  /^(?:as|break|const|continue|else|false|for|function|if|import|in|let|loop|namespace|null|package|return|true|var|void|while)$/;

/** True if an expression can refer to the field by its name alone. */
export function isCelName(field: string): boolean {
  return /^[A-Za-z_]\w*$/.test(field) && !reserved.test(field);
}
