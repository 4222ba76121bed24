/** The text of a style sheet, which the build embeds in the bundle. */
declare module '*.css' {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: bundlers provide the text as the default export
  export default text;
}
