/** Returns text as a YAML scalar that can stand inside `{ }`. It has quotes only if YAML might read it as something else without them. */
export function yamlWord(text: string): string {
  const isPlain = /^[A-Za-z_][\w.-]*$/.test(text) && !/^(?:true|false|null)$/i.test(text);
  return isPlain ? text : JSON.stringify(text);
}
