/** Pieces of a stream made whole lines; what is blank is left out. */
export class Lines {
  #rest = ''

  push(piece: string): string[] {
    const lines = (this.#rest + piece).split('\n')
    this.#rest = lines.pop() ?? ''
    return lines.filter(line => line.trim() !== '')
  }
}
