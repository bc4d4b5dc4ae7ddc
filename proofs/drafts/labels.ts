/**
 * The roles of the columns of 55 public tables, written by hand before any rule: t for a time, m for a measure, d for
 * a dimension, i for an identifier, o for anything else (a text, a position, a constant).
 */
export const LABELS: Record<string, string> = {
  'airports.csv': 'i: iata; o: name, city, latitude, longitude; d: state, country',
  'anscombe.json': 'd: Series; m: X, Y',
  'barley.json': 'm: yield; d: variety, site; t: year',
  'birdstrikes.csv':
    'd: Airport Name, Aircraft Make Model, Effect Amount of damage, Aircraft Airline Operator, Origin State, Phase of flight, Wildlife Size, Wildlife Species, Time of day; t: Flight Date; m: Cost Other, Cost Repair, Cost Total $, Speed IAS in knots',
  'budgets.json': 't: budgetYear, forecastYear; m: value',
  'burtin.json': 'i: Bacteria; m: Penicillin, Streptomycin, Neomycin; d: Gram_Staining, Genus',
  'cars.json':
    'o: Name; m: Miles_per_Gallon, Displacement, Horsepower, Weight_in_lbs, Acceleration; d: Cylinders, Origin; t: Year',
  'co2-concentration.csv': 't: Date; m: CO2, adjusted CO2',
  'countries.json':
    'o: _comment; t: year; m: fertility, life_expect, n_fertility, n_life_expect, p_fertility, p_life_expect; d: country',
  'crimea.json': 't: date; m: wounds, other, disease, army_size',
  'disasters.csv': 'd: Entity; t: Year; m: Deaths',
  'driving.json': 'd: side; t: year; m: miles, gas',
  'flights-2k.json': 't: date; m: delay, distance; d: origin, destination',
  'flights-airport.csv': 'd: origin, destination; m: count',
  'football.json': 't: date; d: division, home_team, away_team; m: home_score, away_score',
  'gapminder-health-income.csv': 'i: country; m: income, health, population; d: region',
  'gapminder.json': 't: year; d: country, cluster; m: pop, life_expect, fertility',
  'github.csv': 't: time; m: count',
  'global-temp.csv': 't: year; m: temp',
  'income.json': 'd: name, region, group; i: id; m: pct, total',
  'iowa-electricity.csv': 't: year; d: source; m: net_generation',
  'jobs.json': 'd: job, sex; t: year; m: count, perc',
  'la-riots.csv':
    'o: first_name, last_name, address, longitude, latitude; m: age; d: gender, race, type, neighborhood; t: death_date',
  'londonCentroids.json': 'i: name; o: cx, cy',
  'lookup_groups.csv': 'd: group; i: person',
  'lookup_people.csv': 'i: name; m: age, height',
  'monarchs.json': 'i: name, index; t: start, end; o: commonwealth',
  'movies.json':
    'o: Title; m: US Gross, Worldwide Gross, US DVD Sales, Production Budget, Running Time min, Rotten Tomatoes Rating, IMDB Rating, IMDB Votes; t: Release Date; d: MPAA Rating, Distributor, Source, Major Genre, Creative Type, Director',
  'normal-2d.json': 'm: u, v',
  'obesity.json': 'i: id, state; m: rate',
  'ohlc.json': 't: date; m: open, high, low, close, ret; d: signal',
  'penguins.json':
    'd: Species, Island, Sex; m: Beak Length (mm), Beak Depth (mm), Flipper Length (mm), Body Mass (g)',
  'political-contributions.json':
    'i: Candidate_Identification; o: Candidate_Name, Transfers_from_Authorized_Committees, Other_Loans, Contributions_from_Other_Political_Committees, Refunds_to_Committees; d: Incumbent_Challenger_Status, Party_Code, Party_Affiliation, Candidate_State, Candidate_District; t: Coverage_End_Date; m: Total_Receipts, Total_Disbursements, Transfers_to_Authorized_Committees, Beginning_Cash, Ending_Cash, Contributions_from_Candidate, Loans_from_Candidate, Candidate_Loan_Repayments, Other_Loan_Repayments, Debts_Owed_By, Total_Individual_Contributions, Contributions_from_Party_Committees, Refunds_to_Individuals',
  'population.json': 't: year; d: age, sex; m: people',
  'population_engineers_hurricanes.csv': 'i: state, id; m: population, engineers, hurricanes',
  'seattle-weather-hourly-normals.csv': 't: date; m: pressure, temperature, wind',
  'seattle-weather.csv': 't: date; m: precipitation, temp_max, temp_min, wind; d: weather',
  'sp500-2000.csv': 't: date; m: open, high, low, close, adjclose, volume',
  'sp500.csv': 't: date; m: price',
  'stocks.csv': 'd: symbol; t: date; m: price',
  'udistrict.json': 'd: key; o: lat',
  'unemployment-across-industries.json': 'd: series, month; t: year, date; m: count, rate',
  'unemployment.tsv': 'i: id; m: rate',
  'uniform-2d.json': 'm: u, v',
  'us-employment.csv':
    't: month; m: nonfarm, private, goods_producing, service_providing, private_service_providing, mining_and_logging, construction, manufacturing, durable_goods, nondurable_goods, trade_transportation_utilties, wholesale_trade, retail_trade, transportation_and_warehousing, utilities, information, financial_activities, professional_and_business_services, education_and_health_services, leisure_and_hospitality, other_services, government, nonfarm_change',
  'us-state-capitals.json': 'o: lon, lat; i: state, city',
  'weather.csv': 'd: location, weather; t: date; m: precipitation, temp_max, temp_min, wind',
  'wheat.json': 't: year; m: wheat, wages',
  'windvectors.csv': 'o: longitude, latitude; m: dir, speed; d: dirCat',
  'zipcodes.csv': 'i: zip_code; o: latitude, longitude, city; d: state, county',
  'nile.csv': 't: year; m: volume',
  'us-births.csv': 't: date; m: births',
  'ucb-admissions.csv': 'd: department, sex; m: applicants, admitted',
  'us-offices.csv.gz': 'i: person; o: name; d: office, state, party; t: began, ended',
  'experiments.csv': 'd: experiment, outcome, good, arm, control, design, source; m: participants, successes',
}
