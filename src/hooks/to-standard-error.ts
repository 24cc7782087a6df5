/** Where lines for the person go, unless they are wanted elsewhere. */
export function toStandardError(line: string): void {
  process.stderr.write(`${line}\n`)
}
