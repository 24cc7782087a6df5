import { nearestName } from '../../plugin/config/nearest.ts'
import { type Command, type CommandPage, type CommandRow, command, EXIT, WrongUse } from '../command.ts'
import { bashScript, type CompletedPage, fishScript, helpPage, zshScript } from '../completion-scripts.ts'

const SCRIPTS: ReadonlyMap<string, (pages: readonly CompletedPage[]) => string> = new Map([
  ['bash', bashScript],
  ['zsh', zshScript],
  ['fish', fishScript],
])
const SHELLS: readonly string[] = [...SCRIPTS.keys()]

const PAGE = {
  name: 'completion',
  operand: { placeholder: 'SHELL', offers: SHELLS },
  about: `Prints a script by which your shell completes what belongs to hookspan: commands, options, hosts, types of
backends, files. Put one of these lines where it is:

  ~/.bashrc                   source <(hookspan completion bash)
  ~/.zshrc, behind compinit   source <(hookspan completion zsh)
  ~/.config/fish/config.fish  hookspan completion fish | source

It completes "hookspan", so that has to be on the PATH: npm install -g hookspan.`,
  options: {},
} as const satisfies CommandPage

export function completionOf(rows: readonly CommandRow[]): Command {
  return command(PAGE, async ({ operands: [shell, second] }, io) => {
    if (shell === undefined) throw new WrongUse(`expected a shell: ${SHELLS.join(', ')}`)
    if (second !== undefined) throw new WrongUse(`expected one shell, got ${JSON.stringify(second)}, too`)
    const script = SCRIPTS.get(shell)
    if (script === undefined) throw new WrongUse(unknownShell(shell))
    const pages = await Promise.all(rows.map(async ({ summary, load }) => ({ ...(await load()), summary })))
    io.stdout.write(script([...pages, helpPage(pages)]))
    return EXIT.ok
  })
}

function unknownShell(shell: string): string {
  const meant = nearestName(shell, SHELLS)
  const advice = meant === undefined ? `; shells: ${SHELLS.join(', ')}` : `. Did you mean ${meant}?`
  return `there is nothing for the shell ${JSON.stringify(shell.slice(0, 60))}${advice}`
}
