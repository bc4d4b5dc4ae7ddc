/** Tells from the name of a column whether it holds units, in English, German, French and Spanish. */
import { readable } from '../../verdicts/measure.ts'

/**
 * Words for whom or what rows belong to, without accents. Behind the English word stand those of other languages, and
 * after a bar the words that count only beside a word for a key, as in "kunden_id", "Kundennummer" and "id_persona".
 */
const WORDS = `
  user: nutzer benutzer anwender utilisateur utilisatrice usuario usuaria | nutzerin
  customer: kunde kundin cliente | kunden
  client: klient klientin | klienten
  visitor: besucher besucherin visiteur visiteuse visitante
  player: spieler spielerin joueur joueuse jugador jugadora
  patient: patientin patiente paciente | patienten
  member: mitglied membre miembro socio socia | mitglieds mitglieder
  subscriber: abonnent abonnentin abonne abonnee suscriptor suscriptora abonado abonada | abonnenten
  account: konto | konten compte cuenta
  person: personne | personen persona
  participant: teilnehmer teilnehmerin participante
  subject: proband probandin | probanden
  respondent:
  student: etudiant etudiante estudiante | studenten
  pupil: schuler schueler schulerin schuelerin eleve alumno alumna
  employee: mitarbeiter mitarbeiterin employe employee empleado empleada
  household: haushalt menage hogar | haushalts
  device: gerat geraet appareil dispositivo | gerate geraete
  session: sitzung sesion | sitzungs
  cookie:
  shopper:
  buyer: kaufer kaeufer acheteur acheteuse comprador compradora
  guest: gast
  passenger: fahrgast passager passagere pasajero pasajera
  unit:
`
/** German words whose plural is the same, so that a column of numbers with such a name may count them. */
const COUNTS = new Set(
  'nutzer benutzer anwender besucher spieler teilnehmer schuler schueler mitarbeiter kaufer kaeufer'.split(
    ' ',
  ),
)

/** The English word of each word, and of each one that needs a key. */
const WHO = new Map<string, string>()
const BESIDE_KEY = new Map<string, string>()
for (const line of WORDS.trim().split('\n')) {
  const [one = '', others = ''] = line.trim().split(':')
  const [alone = '', keyed = ''] = others.split('|')
  for (const word of [one, ...alone.split(' ')]) if (word !== '') WHO.set(word, one)
  for (const word of keyed.split(' ')) if (word !== '') BESIDE_KEY.set(word, one)
}

const KEY = new Set(['id', 'uuid', 'guid'])
const OF_WHO = new Set(
  'key number no nr email mail name hash nummer kennung numero num cle clave codigo code'.split(' '),
)
/** Ends of one word, as in `userid` and "kundennummer". */
const ENDS = ['id', 'nr', 'nummer', 'kennung', 'name']

export interface UnitName {
  /** The English word for whose the values are; null if the name is only that of an id. */
  who: string | null
  /** Whether a column of numbers with this name may count the units. */
  counts: boolean
}

/** Reads a name: "user" for `user_id`, `userid` and `UserName`, "customer" for `Kundennummer`; null for no unit. */
export function unitName(name: string): UnitName | null {
  const [last = '', before = ''] = wordsOf(name).slice(-2).toReversed()
  const alone = WHO.get(last) ?? withKey(last)
  if (alone !== null) return { who: alone, counts: COUNTS.has(last) }
  const owner = isKey(last)
    ? (WHO.get(before) ?? BESIDE_KEY.get(before))
    : isKey(before)
      ? BESIDE_KEY.get(last)
      : undefined
  if (owner !== undefined) return { who: owner, counts: false }
  return KEY.has(last) ? { who: null, counts: false } : null
}

const isKey = (word: string): boolean => KEY.has(word) || OF_WHO.has(word)

/** Returns the word for whose the values are if a word and a key are written as one. */
function withKey(word: string): string | null {
  for (const end of ENDS) {
    const bare = word.endsWith(end) ? word.slice(0, -end.length) : ''
    const who = WHO.get(bare) ?? BESIDE_KEY.get(bare)
    if (who !== undefined) return who
  }
  return null
}

const wordsOf = (name: string): string[] =>
  readable(name)
    .toLowerCase()
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
