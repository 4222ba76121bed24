/** The text of a style sheet. The build puts it into the bundle. */
declare module '*.css' {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: bundlers give the text so
  export default text;
}
