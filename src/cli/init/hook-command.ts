import { packageFile } from './package-folder.ts'

/**
 * As a line of a shell: the program that hands a hook to the receiver. By the Node that runs this: agents may have another one,
 * or none, on their PATH.
 *
 * @throws Error when this copy of hookspan lacks it
 */
export function commandFor(
  agent: string,
  { folder }: { readonly folder: string },
  options: readonly string[] = [],
): string {
  return [process.execPath, packageFile(folder, 'dist', 'hook.cjs'), agent, ...options].map(quoted).join(' ')
}

/** Also that of another copy of hookspan, with options, and one that ends well whatever happens. */
export function isCommandFor(agent: string, command: unknown): boolean {
  const ours = new RegExp(`[/\\\\]dist[/\\\\]hook\\.cjs['"]? ${agent}(?: --[a-z]+(?: [a-z0-9]+)?)*(?: \\|\\| true)?$`)
  return typeof command === 'string' && ours.test(command)
}

/** A word of a line for the shell. */
export function quoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word
  return process.platform === 'win32' ? `"${word}"` : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
