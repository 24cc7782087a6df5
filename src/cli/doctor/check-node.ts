import { NODE_RANGE } from '../../wiring/package-facts.ts'
import { type Finding, finding } from './finding.ts'

/** The first version that will do, as `package.json` has it. */
const NEEDED = NODE_RANGE.replace(/^[^\d]*/, '')

/** The agent may run under another one: what is looked at is the Node that runs this command. */
export function checkNode(version: string = process.versions.node): Finding {
  if (isAtLeast(numbers(version), numbers(NEEDED))) return finding('ok', 'Node', `v${version}`)
  const what = `v${version} is too old: hookspan needs ${NEEDED} or later`
  return finding('fail', 'Node', what, 'update Node, for the agent, too')
}

function numbers(version: string): number[] {
  return version.split('.').map(part => Number.parseInt(part, 10) || 0)
}

function isAtLeast(version: readonly number[], needed: readonly number[]): boolean {
  for (const [index, least] of needed.entries()) {
    const part = version[index] ?? 0
    if (part !== least) return part > least
  }
  return true
}
