import { expect, test } from 'vitest'
import { AppServer } from './app-server.ts'
import { calls, lived, shell } from './codex.ts'

const ASKING = { sandbox_permissions: 'require_escalated', justification: 'may I?' }

test.each([
  { scenario: 'approved', decision: 'accept', description: 'a command that is approved' },
  { scenario: 'denied', decision: 'decline', description: 'a command that is denied' },
])(
  'traces $description, by hooks that are trusted as their user would',
  async ({ scenario, decision, description }) => {
    const tree = await lived({
      scenario,
      description,
      answer: calls(shell('touch yes.txt', 'call_A', ASKING)),
      run: async user => {
        const server = new AppServer(user, decision)
        await server.trustHooks()
        await server.prompt('please touch')
        await server.end()
      },
    })
    expect(tree).toMatchSnapshot()
  },
)
