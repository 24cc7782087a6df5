/** Extensions that a user may have beside ours, as files. */

/** Refuses a tool, as a permission gate does where nobody can be asked. */
export const REFUSING: string = `
export default pi => {
  pi.on('tool_call', event => (event.toolName === 'bash' ? { block: true, reason: 'not in this project' } : undefined))
}
`

/** Asks a person before a tool runs. */
export const ASKING: string = `
export default pi => {
  pi.on('tool_call', async (event, context) => {
    if (event.toolName !== 'bash') return undefined
    const agreed = await context.ui.confirm('Run this command?', event.input.command)
    return agreed ? undefined : { block: true, reason: 'refused by the user' }
  })
}
`

/** What the sub-agent example of Pi does, in short: a child agent is a process of its own. */
export const DELEGATING: string = `
import { spawn } from 'node:child_process'

const parameters = { type: 'object', properties: { agent: { type: 'string' }, task: { type: 'string' } } }

export default pi => {
  pi.registerTool({
    name: 'subagent',
    label: 'Sub-agent',
    description: 'Delegates a task to another agent',
    parameters,
    async execute(id, { task }) {
      const args = [process.argv[1], '--provider', 'fake', '--model', 'fake-1', '--mode', 'json', '-p', '--no-session', task]
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
      const code = await new Promise(resolve => child.once('exit', resolve))
      return { content: [{ type: 'text', text: 'the child ended with ' + code }], details: {} }
    },
  })
}
`
