/** What an installer has said about a server: its version, and absolute paths. */
export type Installed = Readonly<Record<string, string>> & { readonly version: string }

/**
 * A server that `scripts/test-backends.mjs` has installed.
 *
 * @throws when it has not
 */
export function installed(name: string): Installed {
  const all = JSON.parse(process.env['HOOKSPAN_BACKENDS'] ?? '{}') as Record<string, Installed>
  const found = all[name]
  if (found === undefined) throw new Error(`${name} is not installed: npm run test:backends installs it`)
  return found
}

/** One thing that its installer has said. */
export function installedPath(name: string, key = 'program'): string {
  const path = installed(name)[key]
  if (path === undefined) throw new Error(`the installer of ${name} says nothing about ${key}`)
  return path
}
