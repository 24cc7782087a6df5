import { type Command, command, EXIT } from '../command.ts'

/** Only prints the help: `cli/main.ts` handles the command before loading anything else. */
export const hook: Command = command({
  name: 'hook',
  operand: { placeholder: 'HOST', offers: [] },
  about: `Forwards the hook event on standard input to the receiver (hookspan serve). It is called by the configuration of an
agent: without options it prints nothing, always exits with 0, and waits at most 0.1 seconds for a receiver. If none
runs, it stores the event in a file and starts one.

Agents start it for each hook. "node dist/hook.cjs HOST", from the folder of hookspan, is the same and faster.`,
  options: {
    decide: { help: 'wait up to a second for the decision of guards, print it, and exit accordingly' },
    closed: {
      value: 'HOW',
      help: 'like --decide; without a decision exit with 2 (exit2), or print HOW, a JSON object',
    },
    up: { help: 'if no receiver listens, wait up to 3 seconds for the one that was started' },
  },
  run: () => EXIT.ok,
})
