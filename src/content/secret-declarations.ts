import { endOfMatch } from './secret-span.ts'

/** Variables declared with a type: `const apiKey: string = "…"`, `var password string = "…"`, `char token[] = "…"`. */

const NAME = String.raw`[A-Za-z_][\w.:]{0,40}`
const ARGUMENTS = String.raw`(?:[<[][\w\s,.'|&<>[\]?]{0,60}[>\]])?`
/** `string | undefined`, `Optional[str]`, `&'static str`, `[]const u8`. */
const AFTER_COLON = String.raw`\s{0,4}:\s{0,4}(?:&(?:\\{0,31}'\w{1,20}\s)?|\[\w{0,10}\])?(?:mut\s|const\s)?${NAME}${ARGUMENTS}[?!*]?(?:\s{0,2}\|\s{0,2}${NAME}${ARGUMENTS}){0,4}`
const AFTER_SPACE = String.raw`\s{1,2}(?:\*|\[\])?(?:string|byte|str|char|[nN]?[vV]?(?:ar)?[cC]har2?|N?VARCHAR2?|TEXT)(?:\(\w{1,5}\))?`
const OTHER = String.raw`\s[Aa]s\s\w{1,30}|\[\w{0,20}\]|\s{0,2}\{[\w\s;]{1,60}\}`
const TYPE = new RegExp(String.raw`[?!]?(?:${AFTER_COLON}|${AFTER_SPACE}|${OTHER})\s{0,4}=(?![=>~])\s{0,4}`, 'y')
/** Texts that can only be a type, and therefore not the value. */
const IS_TYPE =
  /^[?!]?\s*:?\s*(?:&|\[|readonly |(?:list\[|dict\[|string|str|String|bytes|Bytes|any|unknown|Optional|Union|Final|Annotated|[A-Z][A-Za-z]*(?:<|\[|\s*=|\s*\|)))/

/** Calls that return their string argument. */
const WRAPPERS =
  'String(?:::from)?|(?:\\w{1,20}::)?Secret(?:Str|String|Bytes|Box)?(?:(?:::|\\.)(?:new|from|of))?|SecureString|std::string|bytes|\\[\\](?:byte|rune)|Some|(?:Box|Cow|Arc|Rc)::from|CString::new|NSString|(?:\\w{1,20}\\.)?Field'
/** Matches at the value, before its quote. */
export const WRAPPER: string = String.raw`(?:(?:new\s)?(?:${WRAPPERS})\(\s{0,4}(?:default\s?=\s?)?)?`

/** The position of the value in a typed declaration, searched from the end of its name. -1 if there is no type. */
export function declaredValueAt(text: string, nameEnd: number): number {
  return endOfMatch(TYPE, text, nameEnd)
}

export function isType(text: string): boolean {
  return IS_TYPE.test(text)
}

/** A type without a value, as in `def login(password: Optional[str])`. */
export function isLoneType(value: string): boolean {
  return /^(?:(?:Optional|Union|[Ll]ist|[Dd]ict|[Ss]et|[Tt]uple|Sequence|Final|Literal|Annotated|Promise|Array|Record|Readonly|Partial)[[<]|&(?:'\w+)?$|&?(?:str|mut)$|Secret(?:Str|String|Bytes|Box)\b[<[]?)/.test(
    value,
  )
}
