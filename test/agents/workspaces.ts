import type { TestPlugin } from '../../src/testing.ts'

export const DIRECTORY = 'hermes.workspace.directory'

/** The attributes of each root about the directory and the repository in which its agent works. */
export function workspaces(plugin: TestPlugin): readonly object[] {
  const roots = plugin.spans().filter(({ parentSpanId }) => parentSpanId === undefined)
  return roots.map(({ attributes }) =>
    Object.fromEntries(Object.entries(attributes).filter(([name]) => name === DIRECTORY || name.startsWith('vcs.'))),
  )
}
