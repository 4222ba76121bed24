/** Persons, companies, places, words and statement lines that contain names of chains or towns but do not refer to a chain. */
export const noChainLines: readonly string[] = `
John Target|Shell Plumbing|Mark's Apple Farm|Subway Sandwich Consultants|Dr. Anna Müller|Peter Lidl|Maria Costa Gomez
Wendy Smith|Dr. Boots|Aldi Hoxha|Denny Miller|Marshall Reed LLC|Hilton Head Dental|Target Marketing Partners|Orange County Sheriff
Apple Valley Orthodontics|Delta Faucet Repair Boise|Shell Lake Veterinary|Gap Mountain Trail|Boots & Saddle Ranch|Chase Wilson|Ross Taylor
Kroger Family Trust|Walmart Heirs Foundation|Metro Cleaning Company|Jack Daniels Plumbing Houston TX|Smith Bakery Austin TX
Joe's Garage Oakland CA|Tony's Pizza Tampa FL|Anna's Cafe 1234 Chicago IL|SQ *THE RUSTY SPOON OAKLAND CA|TST* MAMA ROSA KITCHEN
PAYPAL *JOHNMILLER|PAYPAL *HANDMADE BY ANNA|POS PURCHASE BLUE HERON GIFTS 1234 PLANO TX|CHECKCARD 0412 LAKESIDE VET CLINIC BOISE ID
KARTENZAHLUNG BÄCKEREI SCHNEIDER BERLIN DE|LASTSCHRIFT STADTWERKE MUENCHEN|CB BOULANGERIE DUPONT PARIS 12/03|ACHAT CB GARAGE DU CENTRE
BETAALAUTOMAAT SLAGERIJ DE VRIES UTRECHT|COMPRA TARJETA FERRETERIA LOPEZ MADRID|Columbia MD|Paris TX|Aurora CO 80012|Jackson MS|Orange CA
Springfield 62701 IL|Berlin DE|10115 Berlin|Main Street 1234 Chicago IL|123 Main St, Austin TX 78701|Lyon 69001 FR|London GB|Madrid ES
PO Box 1234 Denver CO|Invoice 12345|Order #9876|REF 12345678|Payment 2026-03-12|ATM WITHDRAWAL 1234 CHICAGO IL|TRANSFER TO SAVINGS 4711
DIRECT DEPOSIT PAYROLL|SALARY MARCH 2026|RENT APRIL|MIETE MAERZ|GEHALT 03/2026|VIREMENT JEAN DUPONT|ZELLE TO MARIA GARCIA|VENMO *ANNA LEE
INTEREST PAID|OVERDRAFT FEE|Kontofuehrung|Cash|Deposit 1234|Check 1042|Wire transfer 4711 Berlin DE|Steuerberater Weber 1234 Hamburg DE
Praxis Dr. Klein 1234 Koeln DE|Autohaus Weber 1234 Berlin DE|Hotel Adler 1234 Wien AT|Restaurant Krone 1234 Bern CH|Gasthof Post Salzburg AT
City of Portland OR|County of Orange CA|University of Texas 1234 Austin TX|St. Mary Parish Church Chicago IL|Lincoln School 1234 Boise ID
Riverside Dental 1234 Tampa FL|Golden Dragon 1234 Reno NV|Quantum Software 1234 San Jose CA|Peterson & Associates 1234 Albany NY
Hansen Heating 4711 Kopenhagen DK|Kowalski Transport 1234 Warszawa PL|Müller Elektrotechnik 1234 Stuttgart DE|Cabinet Martin 1234 Lyon FR
Trattoria da Giovanni 1234 Roma IT|Officina Rossi 1234 Milano IT|Clinica Dental Sonrisa 1234 Madrid ES|Panaderia La Esquina Valencia ES
Target date 04/12|Boots size 42|Shell script 101|Apple pie 12/03|Orange juice 1234|Gap 5000 m|Express delivery 4711|Total 1234|Total due 04/12/2026
Subtotal 12345|Next 1234|Visa 4711|Mastercard 1234 5678|American dream 1234 Austin TX|Sunrise Yoga 1234 Plano TX|Taj Mahal 1234 Leeds GB`
  .trim()
  .split(/[|\n]/)
  .map((line) => line.trim());
